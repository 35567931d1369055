// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/normalization_definition.h"

#include "ir/core/size_reference.h"
#include "ir/ops/families/reduction_definition.h"

namespace egret::ir {

// The variance is the mean of the squared differences from the mean. The mean of squares minus the
// squared mean would need one pass less, and would cancel for large means.
Moments moments(GraphBuilder& b, Value x, const Integers& axes, double epsilon) {
  const Attrs over = reduction_attrs(axes, true);
  const Value mean = b.add("reduce_mean", {x}, over);
  const Value centered = b.add("sub", {x, mean});
  const Value variance = b.add("reduce_mean", {b.add("mul", {centered, centered})}, over);
  const Value shifted = b.add("add", {variance, b.scalar(b.type(x).dtype, epsilon)});
  return {mean, centered, b.add("sqrt", {shifted})};
}

base::Result<Value> skip_sum(OnnxNode& node, int bias) {
  if (node.has_output(1) || node.has_output(2))
    return base::unsupported("mean and deviation, which ONNX Runtime computes on other devices");
  GraphBuilder& b = node.builder();
  const Value x = node.input(0);
  const TensorType type = node.type(x);
  Value sum = b.add("add", {x, node.input(1)});
  if (node.has_input(bias)) sum = b.add("add", {sum, node.input(bias)});
  if (b.ok() && !(b.type(sum) == type))
    return base::bad_input("the summands do not broadcast to " + to_string(type));
  return sum;
}

Value per_channel(GraphBuilder& b, Value vector, int rank) {
  const TensorType& type = b.type(vector);
  if (b.ok() && type.rank() != 1) {
    return b.fail(base::bad_input("expected one number a channel, not " + to_string(type)));
  }
  if (!b.ok() || rank <= 2) return vector;
  Integers shape(static_cast<std::size_t>(rank - 1), 1);
  shape[0] = target_of_axis(type, 0);
  return b.add("reshape", {vector}, {{"shape", shape}});
}

Value scaled_per_channel(GraphBuilder& b, Value normalized, Value scale, Value bias) {
  const int rank = b.type(normalized).rank();
  const Value scaled = b.add("mul", {normalized, per_channel(b, scale, rank)});
  return bias.valid() ? b.add("add", {scaled, per_channel(b, bias, rank)}) : scaled;
}

}  // namespace egret::ir
