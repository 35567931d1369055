// SPDX-License-Identifier: Apache-2.0
// What terms are made of: start tensors (the variables of the rules to come) and operator choices,
// each an operator or a small fixed composition of operators with its attributes.
//
// A space has several *worlds*: assignments of sizes to all its tensors. A term has a type in each
// world or none at all, and two terms count as equal only when they are so in all worlds, so that
// what holds by accident of one size is not taken for a law. The first world is where terms are
// told apart; keep it small.
//
// Start tensors of equal type in all worlds are interchangeable: terms are enumerated up to
// renaming of them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "ir/core/tensor_type.h"
#include "ir/graph/operator.h"

namespace egret::rules::generator {

using World = std::size_t;

struct StartTensor {
  std::string name;                   // of a pattern variable, without '?'
  std::vector<ir::TensorType> types;  // by world
};

// One operator of a choice. Operands are those of the choice (0, 1, ...) or results of earlier
// steps (-1 for the first step, -2 for the second, ...).
struct Step {
  // Attributes for operands of these types in a world; nullopt: not applicable.
  using MakeAttrs = std::function<std::optional<ir::Attrs>(
      World world, const std::vector<ir::TensorType>& types)>;

  const ir::Operator* op = nullptr;
  std::vector<int> operands{};
  MakeAttrs attrs{};  // null: none are given
};

// What the enumeration counts as one operator. The result is that of the last step.
struct OperatorChoice {
  std::string name;
  std::size_t arity = 0;
  std::vector<Step> steps{};
  // Which operands it is meant for; null: any that the operators accept.
  std::function<bool(World world, const std::vector<ir::TensorType>& types)> applies{};
};

struct Space {
  std::string name;
  std::vector<StartTensor> starts;
  std::vector<OperatorChoice> choices;
  // Whether terms are told apart by numbers, so that what functions mean counts, and not by
  // residues (rules/generator/spaces/valuation.h).
  bool by_value = false;
  std::size_t worlds() const { return starts.empty() ? 0 : starts.front().types.size(); }
};

// The space of TASO's generator (Jia et al., SOSP 2019): 26 operators over 20 tensors. Its first
// world has TASO's sizes.
Space taso_space();

// A space made for a list of operators: for each a choice for every combination of attributes that
// are usual for their names (axes, permutations, strides, paddings, ...), over start tensors of the
// ranks that the operators accept. Errors: an operator that is not known, or for which no operands
// were found.
base::Result<Space> space_of_operators(const std::vector<std::string>& operators);

}  // namespace egret::rules::generator
