// SPDX-License-Identifier: Apache-2.0
// A gradient that the operator's own file defines, where it is better than the derived one: it uses
// fewer operators, or reuses values that exist already.
//
//   Operator tanh() {
//     return differentiated_by(function_operator(...), [](Adjoint& a) -> std::vector<Value> {
//       const Value square = a("mul", {a.output(), a.output()});
//       return {a("mul", {a.gradient(), a("sub", {a.scalar(1), square})})};
//     });
//   }
//
// It is not part of the operator's meaning: proofs ignore it, and tests compare it with the
// gradient of the definition.
#pragma once

#include <functional>
#include <vector>

#include "ir/graph/builder.h"

namespace egret::ir {

// The argument of a gradient function. The function returns a value for each input; an invalid
// value means that the input has no gradient.
class Adjoint {
 public:
  Adjoint(GraphBuilder& builder, std::span<const Value> inputs, Value output, Value gradient,
          const Attrs& attrs)
      : builder_(builder), inputs_(inputs), output_(output), gradient_(gradient), attrs_(attrs) {}

  Value input(int i) const { return inputs_[static_cast<std::size_t>(i)]; }
  Value output() const { return output_; }
  Value gradient() const { return gradient_; }  // of the loss, with respect to the output
  const TensorType& type(Value value) const { return builder_.type(value); }
  const Attrs& attrs() const { return attrs_; }

  Value operator()(std::string_view op, std::initializer_list<Value> inputs, Attrs attrs = {}) {
    return builder_.add(op, inputs, std::move(attrs));
  }
  Value scalar(double value) { return builder_.scalar(type(gradient_).dtype, value); }
  GraphBuilder& builder() { return builder_; }

 private:
  GraphBuilder& builder_;
  std::span<const Value> inputs_;
  Value output_, gradient_;
  const Attrs& attrs_;
};

using Differentiate = std::function<std::vector<Value>(Adjoint&)>;

// Attaches the gradient to the operator. For use in ir/ops, where operators are constructed.
Operator differentiated_by(Operator op, Differentiate differentiate);
// The operator's own gradient; nullptr where it follows from the definition.
const Differentiate* own_gradient(const Operator& op);

// Marks inputs that hold statistics of data, such as the moments of a batch norm. Training does not
// update a constant in such a place; its gradient is still defined.
Operator measured_inputs(Operator op, std::vector<int> inputs);
bool is_measured_input(const Operator& op, std::size_t input);

}  // namespace egret::ir
