// SPDX-License-Identifier: Apache-2.0
// Rules of a proof log in a snapshot. The substituted variables and the computed terms are not
// written, because the kinds of the expressions determine them.
#include <algorithm>

#include "egraph/core/rule_form.h"
#include "egraph/formats/snapshot_items.h"

namespace egret::egraph {

namespace {

using Expression = RuleForm::Expression;

void save_texts(const std::vector<std::string>& texts, ItemWriter& items) {
  items.number(texts.size());
  for (const std::string& text : texts) items.text(text);
}

std::vector<std::string> load_texts(ItemReader& items) {
  std::vector<std::string> texts;
  for (std::size_t left = items.count(); left > 0 && items.ok(); --left)
    texts.push_back(items.text());
  return texts;
}

void save_expression(const Expression& e, ItemWriter& items) {
  items.number(static_cast<std::uint64_t>(e.kind));
  items.number(e.op.index());
  items.number(e.base.index());
  items.number(e.operand);
  items.number(e.children.size());
  for (const VarId child : e.children) items.number(child.index());
}

}  // namespace

void RuleForm::save(ItemWriter& items) const {
  items.text(name_);
  save_texts(conditions_, items);
  save_texts(names_, items);
  save_texts(op_names_, items);
  save_texts(computed_op_names_, items);
  save_texts(computed_term_names_, items);
  for (const Expression& e : expressions_) save_expression(e, items);
  for (const VarId var : order_) items.number(var.index());
  items.number(equations_.size());
  for (const auto& [left, right] : equations_) {
    items.number(left.index());
    items.number(right.index());
  }
  items.number(premises_.size());
  for (const Premise& premise : premises_) {
    items.number(premise.var.index());
    save_expression(premise.is, items);
  }
}

// Reads the parts of a form whose names have been read.
class RuleForm::Reading {
 public:
  Reading(RuleForm& form, ItemReader& items, const OpTable& ops)
      : form_(form), items_(items), ops_(ops), vars_(form.names_.size()) {
    form.computed_terms_.resize(form.computed_term_names_.size());
  }

  void expressions() {
    for (std::size_t var = 0; var < vars_ && items_.ok(); ++var) {
      form_.expressions_.push_back(expression());
      const Expression& e = form_.expressions_.back();
      if (e.kind == Expression::Kind::kTerm) form_.substituted_.emplace_back(var);
      if (e.kind != Expression::Kind::kComputedTerm || !items_.ok()) continue;
      VarId& computed = form_.computed_terms_[e.operand];
      if (computed.valid()) items_.fail("a computed term is two variables");
      computed = VarId(var);
    }
    for (const VarId var : form_.computed_terms_) {
      if (!var.valid()) items_.fail("a computed term is no variable");
    }
  }

  // Checks that the order is topological: each variable once, behind those of which it consists.
  void order() {
    std::vector<bool> known(vars_);
    for (std::size_t i = 0; i < vars_ && items_.ok(); ++i) {
      const VarId var = this->var();
      if (!items_.ok()) return;
      const auto is_known = [&](VarId child) { return known[child.index()]; };
      if (known[var.index()] || !std::ranges::all_of(form_.expression(var).children, is_known))
        items_.fail("a variable stands before what it is made of");
      known[var.index()] = true;
      form_.order_.push_back(var);
    }
  }

  void equations() {
    for (std::size_t left = items_.count(); left > 0 && items_.ok(); --left) {
      const VarId a = var();
      form_.equations_.emplace_back(a, var());
    }
    if (form_.equations_.empty()) items_.fail("a rule says nothing");
  }

  void premises() {
    using Kind = Expression::Kind;
    for (std::size_t left = items_.count(); left > 0 && items_.ok(); --left) {
      const VarId var = this->var();
      Expression is = expression();
      if (!items_.ok()) return;
      const bool is_node = is.kind == Kind::kNode || is.kind == Kind::kCapturedOp;
      if (form_.expression(var).kind != Kind::kTerm || !is_node)
        items_.fail("a premise is not about a variable and a node");
      form_.premises_.push_back({var, std::move(is)});
    }
  }

 private:
  VarId var() { return VarId(items_.number(vars_)); }

  // Reads an expression and checks the fields that its kind uses.
  Expression expression() {
    using Kind = Expression::Kind;
    Expression e;
    e.kind = static_cast<Kind>(items_.number(static_cast<std::uint64_t>(Kind::kComputedTerm) + 1));
    const std::uint64_t op = items_.number(ItemReader::kAny);
    const std::uint64_t base = items_.number(ItemReader::kAny);
    const std::uint64_t operand = items_.number(ItemReader::kAny);
    for (std::size_t left = items_.count(); left > 0 && items_.ok(); --left)
      e.children.push_back(var());
    const auto check = [&](bool good) {
      if (!good) items_.fail("a node has no such operator");
    };
    switch (e.kind) {
      case Kind::kTerm: check(e.children.empty()); break;
      case Kind::kNode:
        check(op < ops_.op_count() && ops_.arity(OpId(op)) == e.children.size());
        break;
      case Kind::kCapturedOp:
        check(base < ops_.base_count() && operand < form_.captured_ops());
        break;
      case Kind::kComputedOp: check(operand < form_.computed_ops()); break;
      case Kind::kComputedTerm:
        check(operand < form_.computed_term_names_.size() && e.children.empty());
        break;
    }
    e.op = OpId(op);
    e.base = BaseId(base);
    e.operand = static_cast<std::uint32_t>(operand);
    return e;
  }

  RuleForm& form_;
  ItemReader& items_;
  const OpTable& ops_;
  const std::size_t vars_;
};

RuleForm::RuleForm(ItemReader& items, const OpTable& ops) : name_(items.text()) {
  conditions_ = load_texts(items);
  names_ = load_texts(items);
  op_names_ = load_texts(items);
  computed_op_names_ = load_texts(items);
  computed_term_names_ = load_texts(items);
  Reading reading(*this, items, ops);
  reading.expressions();
  reading.order();
  reading.equations();
  reading.premises();
}

}  // namespace egret::egraph
