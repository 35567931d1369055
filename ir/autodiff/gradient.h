// SPDX-License-Identifier: Apache-2.0
// Gradients of graphs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/graph/builder.h"

namespace egret::ir {

// Adds the gradient of `loss`, a real number, to the builder's graph: for each value in `wanted`
// one value of its type, zeros where the loss does not depend on it. Composites without a gradient
// of their own must have been expanded (expanded_for_gradients()); sizes are known. Linear in the
// nodes between `wanted` and the loss.
//
// Operators are differentiated through their denotations: see ir/autodiff/contributions.h and
// ir/autodiff/sum_of_products.h. No operator is named there. An operator with a better gradient
// defines it in its own file (ir/graph/adjoint.h).
base::Result<std::vector<Value>> gradients(GraphBuilder& b, Value loss,
                                           std::span<const Value> wanted);

// The same of several values: of the sum of outputs[i] * seeds[i], so a seed is the gradient of its
// output and has its type. An output may itself be wanted. Linear in the nodes between `wanted` and
// the outputs.
base::Result<std::vector<Value>> gradients(GraphBuilder& b, std::span<const Value> outputs,
                                           std::span<const Value> seeds,
                                           std::span<const Value> wanted);

// The graph with every composite that has no gradient of its own replaced by its body.
base::Result<Graph> expanded_for_gradients(const Graph& graph);

// The gradient of one operator: the share of each wanted input in `gradient`, the gradient of the
// operator's output. Invalid for inputs that are not wanted, not real, or on which the output does
// not depend smoothly.
base::Result<std::vector<Value>> operator_gradient(GraphBuilder& b, const Operator& op,
                                                   const Attrs& attrs,
                                                   std::span<const Value> inputs, Value output,
                                                   Value gradient, const std::vector<bool>& wanted);

// The origin of an operator's gradient, for inputs of these types.
struct GradientSource {
  enum class Kind : std::uint8_t { kDerived, kOwn, kBody, kNone };

  Kind kind = Kind::kDerived;
  std::string reason{};  // kNone: the reason
};
base::Result<GradientSource> gradient_source(const Operator& op, const Attrs& attrs,
                                             std::span<const TensorType> inputs);

}  // namespace egret::ir
