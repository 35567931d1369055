// SPDX-License-Identifier: Apache-2.0
// Body: the argument of a composite operator's build function. The function builds the operator's
// meaning out of other operators and returns its value.
//
//   Value build_softmax(Body& b) {
//     const Value x = b.input(0);
//     const Attrs axis{{"axes", Integers{b.integer("axis")}}, {"keepdims", 1}};
//     const Value e = b("exp", {b("sub", {x, b("reduce_max", {x}, axis)})});
//     return b("div", {e, b("reduce_sum", {e}, axis)});
//   }
#pragma once

#include "ir/graph/builder.h"

namespace egret::ir {

class Body {
 public:
  Body(GraphBuilder& builder, std::span<const Value> inputs, const Attrs& attrs)
      : builder_(builder), inputs_(inputs), attrs_(attrs) {}

  int input_count() const { return static_cast<int>(inputs_.size()); }
  Value input(int i) const {
    return i < input_count() ? inputs_[static_cast<std::size_t>(i)] : Value{};
  }
  const TensorType& type(Value value) const { return builder_.type(value); }
  int rank(int input_index) const { return type(input(input_index)).rank(); }
  DType dtype(int input_index) const { return type(input(input_index)).dtype; }

  std::int64_t integer(std::string_view name) const { return attrs_.integer(name); }
  const Integers& integers(std::string_view name) const { return attrs_.integers(name); }
  bool flag(std::string_view name) const { return attrs_.flag(name); }
  // Axes of the input for an operator that refuses those outside of the rank.
  const Integers& axes(std::string_view name, int input_index = 0) const {
    return attrs_.axes(name, rank(input_index));
  }
  // An axis of the input. Fails if there is none.
  std::int64_t axis(std::string_view name, int input_index = 0) {
    const std::int64_t axis = attrs_.axis(name, rank(input_index));
    if (axis >= 0 && axis < rank(input_index)) return axis;
    fail("there is no axis " + std::to_string(axis));
    return 0;
  }
  double real(std::string_view name) const { return attrs_.real(name); }
  const std::string& text(std::string_view name) const { return attrs_.text(name); }
  const Attrs& attrs() const { return attrs_; }

  Value operator()(std::string_view op, std::initializer_list<Value> inputs, Attrs attrs = {}) {
    return builder_.add(op, inputs, std::move(attrs));
  }
  Value scalar(DType dtype, double value) { return builder_.scalar(dtype, value); }
  Value fail(std::string message) { return builder_.fail(base::bad_input(std::move(message))); }
  GraphBuilder& builder() { return builder_; }

 private:
  GraphBuilder& builder_;
  std::span<const Value> inputs_;
  const Attrs& attrs_;
};

// The body of a composite as a graph whose inputs are called in0, in1, ... and whose only output
// is out.
base::Result<Graph> body_graph(const Operator& op, const Attrs& attrs,
                               std::span<const TensorType> inputs);

}  // namespace egret::ir
