// SPDX-License-Identifier: Apache-2.0
// The vocabulary in which the zoo writes models: layers over a GraphBuilder that draw their weights
// at random. Everything is f32, images are [N, C, H, W].
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/status.h"
#include "ir/graph/builder.h"

namespace egret::zoo {

using ir::Value;

struct Conv {
  std::int64_t filters = 0;
  std::int64_t kernel_h = 1;
  std::int64_t kernel_w = 1;
  std::int64_t stride = 1;
  std::int64_t pad_h = -1;  // -1: keeps the size at stride 1 (kernel div 2)
  std::int64_t pad_w = -1;
  std::int64_t group = 1;
  std::int64_t dilation = 1;
  bool bias = false;
};

inline Conv conv(std::int64_t filters, std::int64_t kernel, std::int64_t stride = 1) {
  return {.filters = filters, .kernel_h = kernel, .kernel_w = kernel, .stride = stride};
}

struct Pool {
  std::int64_t kernel = 3;
  std::int64_t stride = 1;
  std::int64_t pad = -1;  // -1: kernel div 2
};

class Network {
 public:
  Network(std::string name, std::uint64_t seed) : name_(std::move(name)), random_(seed) {}

  Value input(std::string name, std::initializer_list<std::int64_t> shape);
  Value input_ids(std::string name, std::initializer_list<std::int64_t> shape);  // i64

  // Weights uniform with variance 2 / fan_in, so that activations neither grow nor vanish.
  Value weight(std::initializer_list<std::int64_t> shape, std::int64_t fan_in);
  Value vector(std::int64_t size, double low, double high);  // f32[size]

  Value integers(std::span<const std::int64_t> values);  // i64[n]
  Value reals(std::span<const double> values);           // f32[n]

  Value conv(Value x, const Conv& layer);
  Value batch_norm(Value x);  // with statistics as after training
  Value conv_bn(Value x, const Conv& layer) { return batch_norm(conv(x, layer)); }
  Value conv_bn_relu(Value x, const Conv& layer) { return relu(conv_bn(x, layer)); }
  Value conv_relu(Value x, const Conv& layer) { return relu(conv(x, layer)); }
  Value relu(Value x) { return apply("relu", {x}); }
  Value add(Value a, Value b) { return apply("add", {a, b}); }
  Value mul(Value a, Value b) { return apply("mul", {a, b}); }
  Value concat(std::span<const Value> parts, std::int64_t axis);
  Value max_pool(Value x, const Pool& layer);
  Value avg_pool(Value x, const Pool& layer, bool count_include_pad = false);
  Value global_avg_pool(Value x);
  Value flatten(Value x);                                         // [N, ...] to [N, rest]
  Value linear(Value x, std::int64_t outputs, bool bias = true);  // on the last axis
  Value reshape(Value x, std::initializer_list<std::int64_t> shape);
  Value transpose(Value x, std::initializer_list<std::int64_t> perm);
  Value softmax(Value x);     // over the last axis
  Value layer_norm(Value x);  // over the last axis
  Value apply(std::string_view op, std::initializer_list<Value> inputs, ir::Attrs attrs = {}) {
    return builder_.add(op, inputs, std::move(attrs));
  }
  Value scalar(double value) { return builder_.scalar(ir::DType::kF32, value); }

  std::int64_t size(Value x, int axis) const;  // negative axes count from the end
  int rank(Value x) const { return builder_.type(x).rank(); }

  base::Result<ir::Graph> finish(Value output, std::string output_name = "output");

 private:
  std::string name_;
  base::Random random_;
  ir::GraphBuilder builder_;
};

}  // namespace egret::zoo
