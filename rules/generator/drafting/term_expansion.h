// SPDX-License-Identifier: Apache-2.0
// An application of a term table, written with the operators of its choice. An operator choice is a
// short program; the application of a choice of three steps becomes three nested terms of a rule.
#pragma once

#include <optional>
#include <vector>

#include "base/function_ref.h"
#include "ir/core/attributes.h"
#include "rules/generator/spaces/term_table.h"
#include "rules/language/rule.h"

namespace egret::rules::generator {

using AttrValues = std::vector<ir::AttrValue>;  // of one attribute, by world

bool is_constant(const AttrValues& values);  // the same in all worlds

// An attribute of a step.
struct StepAttr {
  const ir::AttrSpec& spec;
  const AttrValues& values;
  bool is_default;  // in all worlds
};

// The attributes of the steps of an application, by step and world.
std::vector<std::vector<ir::Attrs>> step_attrs(TermTable& terms, TermId application);

// The term of an application: `operand` writes its operands, `attr` its attributes. Operands of a
// step are written before its attributes, and steps in their order. A literal that is the default
// is omitted. nullopt if `operand` or `attr` has none.
std::optional<Term> expand(TermTable& terms, TermId application,
                           base::FunctionRef<std::optional<Term>(TermId)> operand,
                           base::FunctionRef<std::optional<Expr>(const StepAttr&)> attr);

}  // namespace egret::rules::generator
