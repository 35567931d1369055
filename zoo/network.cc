// SPDX-License-Identifier: Apache-2.0
#include "zoo/network.h"

#include <cmath>

#include "base/stop.h"

namespace egret::zoo {

using ir::Attrs;
using ir::DType;
using ir::Integers;

namespace {

// Fills f32 without going through set_f64(), which matters for models of 10^8 weights.
ir::Tensor uniform(ir::TensorType type, base::Random random, double low, double high) {
  ir::Tensor tensor(std::move(type));
  for (float& element : tensor.mutable_as<float>())
    element = static_cast<float>(random.uniform(low, high));
  return tensor;
}

}  // namespace

Value Network::input(std::string name, std::initializer_list<std::int64_t> shape) {
  return builder_.input(std::move(name), {DType::kF32, shape});
}

Value Network::input_ids(std::string name, std::initializer_list<std::int64_t> shape) {
  return builder_.input(std::move(name), {DType::kI64, shape});
}

Value Network::weight(std::initializer_list<std::int64_t> shape, std::int64_t fan_in) {
  const double limit = std::sqrt(6.0 / static_cast<double>(std::max<std::int64_t>(1, fan_in)));
  if (base::stop_requested()) return builder_.fail(base::limit_hit("interrupted"));
  return builder_.constant(
      uniform({DType::kF32, shape}, random_.split(random_.next()), -limit, limit));
}

Value Network::vector(std::int64_t count, double low, double high) {
  return builder_.constant(
      uniform({DType::kF32, {count}}, random_.split(random_.next()), low, high));
}

Value Network::integers(std::span<const std::int64_t> values) {
  return builder_.constant(ir::Tensor::of_integers(values));
}

Value Network::reals(std::span<const double> values) {
  const std::int64_t shape[] = {static_cast<std::int64_t>(values.size())};
  return builder_.constant(ir::Tensor::of(DType::kF32, shape, values));
}

std::int64_t Network::size(Value x, int axis) const {
  const ir::TensorType& type = builder_.type(x);
  const int at = axis < 0 ? axis + type.rank() : axis;
  if (!builder_.ok() || at < 0 || at >= type.rank()) return 1;  // the error is in the builder
  return type.dims[static_cast<std::size_t>(at)].constant();
}

Value Network::conv(Value x, const Conv& layer) {
  const std::int64_t channels = size(x, 1) / layer.group;
  const std::int64_t pad_h =
      layer.pad_h >= 0 ? layer.pad_h : layer.dilation * (layer.kernel_h - 1) / 2;
  const std::int64_t pad_w =
      layer.pad_w >= 0 ? layer.pad_w : layer.dilation * (layer.kernel_w - 1) / 2;
  Attrs attrs{{"strides", Integers{layer.stride, layer.stride}},
              {"pads", Integers{pad_h, pad_w, pad_h, pad_w}},
              {"dilations", Integers{layer.dilation, layer.dilation}},
              {"group", layer.group}};
  const Value w = weight({layer.filters, channels, layer.kernel_h, layer.kernel_w},
                         channels * layer.kernel_h * layer.kernel_w);
  if (!layer.bias) return apply("conv", {x, w}, std::move(attrs));
  attrs.set("activation", std::string("none"));
  return apply("fused_conv", {x, w, vector(layer.filters, -0.1, 0.1)}, std::move(attrs));
}

Value Network::batch_norm(Value x) {
  const std::int64_t channels = size(x, 1);
  const Value scale = vector(channels, 0.5, 1.5);
  const Value bias = vector(channels, -0.1, 0.1);
  const Value mean = vector(channels, -0.1, 0.1);
  const Value variance = vector(channels, 0.5, 1.5);
  return apply("batch_norm", {x, scale, bias, mean, variance}, {{"epsilon", 1e-5}});
}

Value Network::concat(std::span<const Value> parts, std::int64_t axis) {
  return builder_.add("concat", parts, {{"axis", axis}});
}

Value Network::max_pool(Value x, const Pool& layer) {
  const std::int64_t pad = layer.pad >= 0 ? layer.pad : layer.kernel / 2;
  return apply("max_pool", {x},
               {{"kernel", Integers{layer.kernel, layer.kernel}},
                {"strides", Integers{layer.stride, layer.stride}},
                {"pads", Integers{pad, pad, pad, pad}},
                {"dilations", Integers{1, 1}}});
}

Value Network::avg_pool(Value x, const Pool& layer, bool count_include_pad) {
  const std::int64_t pad = layer.pad >= 0 ? layer.pad : layer.kernel / 2;
  return apply("avg_pool", {x},
               {{"kernel", Integers{layer.kernel, layer.kernel}},
                {"strides", Integers{layer.stride, layer.stride}},
                {"pads", Integers{pad, pad, pad, pad}},
                {"dilations", Integers{1, 1}},
                {"count_include_pad", std::int64_t{count_include_pad ? 1 : 0}}});
}

Value Network::global_avg_pool(Value x) {
  return apply("reduce_mean", {x}, {{"axes", Integers{2, 3}}, {"keepdims", std::int64_t{1}}});
}

Value Network::flatten(Value x) {
  std::int64_t rest = 1;
  for (int axis = 1; axis < rank(x); ++axis) rest *= size(x, axis);
  return reshape(x, {size(x, 0), rest});
}

Value Network::linear(Value x, std::int64_t outputs, bool bias) {
  const std::int64_t inputs = size(x, -1);
  const Value w = weight({inputs, outputs}, inputs);
  if (!bias) return apply("matmul", {x, w});
  return add(apply("matmul", {x, w}), vector(outputs, -0.1, 0.1));
}

Value Network::reshape(Value x, std::initializer_list<std::int64_t> shape) {
  return apply("reshape", {x}, {{"shape", Integers(shape)}});
}

Value Network::transpose(Value x, std::initializer_list<std::int64_t> perm) {
  return apply("transpose", {x}, {{"perm", Integers(perm)}});
}

Value Network::softmax(Value x) {
  return apply("softmax", {x}, {{"axis", std::int64_t{rank(x) - 1}}});
}

Value Network::layer_norm(Value x) {
  const std::int64_t width = size(x, -1);
  return apply("layer_norm", {x, vector(width, 0.5, 1.5), vector(width, -0.1, 0.1)},
               {{"axis", std::int64_t{rank(x) - 1}}, {"epsilon", 1e-5}});
}

base::Result<ir::Graph> Network::finish(Value output, std::string output_name) {
  builder_.output(std::move(output_name), output);
  EGRET_ASSIGN_OR_RETURN(ir::Graph graph, builder_.finish());
  graph.name = name_;
  return graph;
}

}  // namespace egret::zoo
