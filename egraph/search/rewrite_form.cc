// SPDX-License-Identifier: Apache-2.0
// Makes a RuleForm from a Rewrite: the content of the rule without its functions.
#include <string>
#include <utility>
#include <variant>

#include "egraph/core/rule_form.h"
#include "egraph/search/rewrite.h"

namespace egret::egraph {

RuleForm::RuleForm(const Rewrite& rewrite)
    : name_(rewrite.name()),
      conditions_(rewrite.condition_texts().begin(), rewrite.condition_texts().end()),
      equations_(rewrite.equations().begin(), rewrite.equations().end()) {
  const Pattern& pattern = rewrite.pattern();
  expressions_.resize(pattern.var_count());
  for (std::size_t var = 0; var < pattern.var_count(); ++var) {
    const std::string_view name = pattern.name(VarId(var));
    names_.push_back(name.empty() ? "?_" + std::to_string(var) : "?" + std::string(name));
  }
  for (std::size_t var = 0; var < pattern.op_var_count(); ++var) {
    const std::string_view name = pattern.name(OpVarId(var));
    op_names_.push_back(name.empty() ? "?_" + std::to_string(var) : "?" + std::string(name));
  }
  define_variables(pattern);
  add_steps(rewrite);
}

void RuleForm::add_steps(const Rewrite& rewrite) {
  for (const Rewrite::Step& step : rewrite.steps()) {
    Expression made;
    made.children = step.children;
    const std::string name = step.text.empty() ? name_ : step.text;
    if (const auto* op = std::get_if<OpId>(&step.make)) {
      made.kind = Expression::Kind::kNode;
      made.op = *op;
    } else if (std::holds_alternative<Rewrite::OpBuilder>(step.make)) {
      made.kind = Expression::Kind::kComputedOp;
      made.operand = static_cast<std::uint32_t>(computed_op_names_.size());
      computed_op_names_.push_back(name);
    } else {
      made.kind = Expression::Kind::kComputedTerm;
      made.operand = static_cast<std::uint32_t>(computed_terms_.size());
      computed_terms_.emplace_back(expressions_.size());
      computed_term_names_.push_back(name);
    }
    order_.emplace_back(expressions_.size());
    expressions_.push_back(std::move(made));
    names_.emplace_back();
  }
}

}  // namespace egret::egraph
