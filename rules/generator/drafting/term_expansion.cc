// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/drafting/term_expansion.h"

#include <algorithm>
#include <utility>

namespace egret::rules::generator {

bool is_constant(const AttrValues& values) {
  return std::ranges::all_of(values,
                             [&](const ir::AttrValue& value) { return value == values.front(); });
}

std::vector<std::vector<ir::Attrs>> step_attrs(TermTable& terms, TermId application) {
  const std::size_t steps = terms.space().choices[terms.choice(application)].steps.size();
  std::vector<std::vector<ir::Attrs>> all(steps);
  for (World world = 0; world < terms.space().worlds(); ++world) {
    const std::vector<ir::Attrs>& attrs = terms.program(application, world).attrs();
    for (std::size_t i = 0; i < steps; ++i) all[i].push_back(attrs[i]);
  }
  return all;
}

std::optional<Term> expand(TermTable& terms, TermId application,
                           base::FunctionRef<std::optional<Term>(TermId)> operand,
                           base::FunctionRef<std::optional<Expr>(const StepAttr&)> attr) {
  const OperatorChoice& choice = terms.space().choices[terms.choice(application)];
  const auto attrs = step_attrs(terms, application);
  std::vector<Term> results;  // of the steps
  for (std::size_t i = 0; i < choice.steps.size(); ++i) {
    const Step& step = choice.steps[i];
    Term made{.kind = Term::Kind::kApply, .op = step.op};
    for (const int from : step.operands) {
      if (from < 0) {  // the result of an earlier step
        made.arguments.push_back(results[static_cast<std::size_t>(-from - 1)]);
        continue;
      }
      std::optional<Term> argument =
          operand(terms.operands(application)[static_cast<std::size_t>(from)]);
      if (!argument) return std::nullopt;
      made.arguments.push_back(*std::move(argument));
    }
    for (const ir::AttrSpec& spec : step.op->attrs()) {
      AttrValues values;
      for (const ir::Attrs& of_world : attrs[i]) values.push_back(*of_world.find(spec.name));
      const bool is_default =
          spec.default_value && is_constant(values) && values.front() == *spec.default_value;
      std::optional<Expr> value = attr({spec, values, is_default});
      if (!value) return std::nullopt;
      if (!is_default || value->kind != Expr::Kind::kLiteral)
        made.attrs.push_back({spec.name, *std::move(value)});
    }
    results.push_back(std::move(made));
  }
  return std::move(results.back());
}

}  // namespace egret::rules::generator
