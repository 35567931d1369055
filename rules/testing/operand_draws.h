// SPDX-License-Identifier: Apache-2.0
// Random types for the operands of an application that have none yet. Most are drawn like the
// operands of a call that the operator is known to accept (rules/testing/signatures.h).
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "base/random.h"
#include "rules/testing/instance_conditions.h"
#include "rules/testing/shape_draws.h"
#include "rules/testing/signatures.h"
#include "rules/testing/source_builder.h"

namespace egret::rules {

// The signatures that agree with the operands that are built.
std::vector<const Signature*> fitting_signatures(const std::vector<Signature>& known,
                                                 const Operands& operands);

class OperandDraws {
 public:
  OperandDraws(const InstanceConditions& conditions, const Palette& palette, SourceBuilder& sources,
               base::Random& random)
      : conditions_(conditions), palette_(palette), sources_(sources), random_(random) {}

  // Sets the types of operands that are not built, which are variables. The environment of the
  // sources shows them, so that conditions on them have values.
  void draw(const Term& term, const std::vector<const Signature*>& fitting, Operands& operands);

 private:
  std::optional<ir::DType> dtype_of_conditions(const Term& term, const Operands& operands);
  std::optional<ir::DType> drawn_dtype(int slot);
  void show(int slot, const ir::TensorType& type);

  const InstanceConditions& conditions_;
  const Palette& palette_;
  SourceBuilder& sources_;
  base::Random& random_;
  std::map<int, TensorFacts> shown_;  // by slot
};

}  // namespace egret::rules
