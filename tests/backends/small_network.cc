// SPDX-License-Identifier: Apache-2.0
#include "tests/backends/small_network.h"

#include "ir/graph/builder.h"

namespace egret::backends {
namespace {

using ir::Attrs;
using ir::DType;
using ir::GraphBuilder;
using ir::Integers;
using ir::Tensor;
using ir::TensorType;
using ir::Value;

TensorType f32(std::initializer_list<std::int64_t> sizes) { return {DType::kF32, sizes}; }

Tensor weights(std::initializer_list<std::int64_t> sizes, std::uint64_t seed) {
  base::Random random(seed);
  return Tensor::random(f32(sizes), random);
}

Attrs window(std::int64_t stride, std::int64_t pad) {
  return {{"strides", Integers{stride, stride}},
          {"pads", Integers{pad, pad, pad, pad}},
          {"dilations", Integers{1, 1}}};
}

}  // namespace

ir::Graph small_network() {
  GraphBuilder b;
  const auto convolved = [&](Value x, Value w, std::int64_t pad) {
    return b.add("conv", {x, w}, window(1, pad));
  };
  const auto biased_relu = [&](Value x, std::int64_t channels, std::uint64_t seed) {
    return b.add("relu", {b.add("add", {x, b.constant(weights({1, channels, 1, 1}, seed))})});
  };
  Value x = b.input("image", f32({2, 3, 16, 14}));
  x = biased_relu(convolved(x, b.constant(weights({8, 3, 3, 3}, 1)), 1), 8, 2);
  Attrs pool = window(2, 0);
  pool.set("kernel", Integers{2, 2});
  x = b.add("max_pool", {x}, pool);
  const Value squeezed = biased_relu(convolved(x, b.constant(weights({96, 8, 1, 1}, 3)), 0), 96, 4);
  const Value left = convolved(squeezed, b.constant(weights({8, 96, 3, 3}, 5)), 1);
  const Value right = b.add("add", {biased_relu(left, 8, 6), x});
  x = b.add("concat", {right, squeezed}, {{"axis", std::int64_t{1}}});
  x = b.add("reduce_mean", {x}, {{"axes", Integers{2, 3}}, {"keepdims", std::int64_t{0}}});
  x = b.add("matmul", {x, b.constant(weights({104, 700}, 7))});
  b.output("scores", b.add("add", {x, b.constant(weights({700}, 8))}));
  return *std::move(b).finish();
}

}  // namespace egret::backends
