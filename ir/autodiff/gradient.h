// SPDX-License-Identifier: Apache-2.0
// Gradients of graphs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/graph/builder.h"

namespace egret::ir {

// Adds to the builder's graph the gradient of `loss`, a real number, with respect to each of the
// values in `wanted`, each of the type of its value: one value for each, zeros where the loss does
// not depend on it. Composites without a gradient of their own must have been expanded
// (expandable()); sizes are known. Linear in the nodes between `wanted` and the loss.
//
// Operators are differentiated through their denotations: see ir/autodiff/contributions.h and
// ir/autodiff/sum_of_products.h. None is named there; an operator whose gradient is said better in
// another way says so in its own file (ir/graph/adjoint.h).
// Errors: bad_input for a loss that is not one real number; unsupported for sizes that are symbols.
base::Result<std::vector<Value>> gradients(GraphBuilder& b, Value loss,
                                           std::span<const Value> wanted);

// Every composite that has no gradient of its own replaced by its body.
base::Result<Graph> expanded_for_gradients(const Graph& graph);

// The gradient of one operator: for each input that `wanted` names, what it gets of `gradient`,
// that of the operator's output. Invalid for inputs that are not wanted, not real, or on which the
// output does not depend smoothly.
base::Result<std::vector<Value>> operator_gradient(GraphBuilder& b, const Operator& op,
                                                   const Attrs& attrs,
                                                   std::span<const Value> inputs, Value output,
                                                   Value gradient, const std::vector<bool>& wanted);

// Where an operator's gradient comes from, for inputs of these types.
struct GradientSource {
  enum class Kind : std::uint8_t { kDerived, kOwn, kBody, kNone };

  Kind kind = Kind::kDerived;
  std::string reason{};  // kNone: why there is none
};
base::Result<GradientSource> gradient_source(const Operator& op, const Attrs& attrs,
                                             std::span<const TensorType> inputs);

}  // namespace egret::ir
