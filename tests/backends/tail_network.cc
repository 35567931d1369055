// SPDX-License-Identifier: Apache-2.0
#include "tests/backends/tail_network.h"

namespace egret::backends {

using ir::DType;
using ir::GraphBuilder;
using ir::Integers;
using ir::Tensor;
using ir::TensorType;
using ir::Value;

namespace {

TensorType f32(std::initializer_list<std::int64_t> sizes) { return {DType::kF32, sizes}; }

Value number(GraphBuilder& b, double value) { return b.scalar(DType::kF32, value); }

Value biased(GraphBuilder& b, Value x, std::initializer_list<std::int64_t> sizes) {
  base::Random random(4);
  return b.add("add", {x, b.constant(Tensor::random(f32(sizes), random))});
}

}  // namespace

Value silu(GraphBuilder& b, Value x) { return b.add("mul", {x, b.add("sigmoid", {x})}); }

Value hard_swish(GraphBuilder& b, Value x) {
  const Value shifted = b.add("add", {number(b, 3), x});
  const Value low = b.add("max", {shifted, number(b, 0)});
  const Value clipped = b.add("min", {low, number(b, 6)});
  return b.add("div", {b.add("mul", {x, clipped}), number(b, 6)});
}

ir::Graph tail_network(const Tail& tail) {
  GraphBuilder b;
  base::Random random(2);
  const auto product = [&](Value x, std::int64_t in, std::int64_t out) {
    return b.add("matmul", {x, b.constant(Tensor::random(f32({in, out}), random))});
  };
  const Value x = b.input("x", f32({2, 24, 64}));
  b.output("y", product(tail(b, biased(b, product(x, 64, 96), {96})), 96, 48));
  return *std::move(b).finish();
}

ir::Graph tail_image_network(const Tail& tail) {
  GraphBuilder b;
  base::Random random(3);
  const auto convolved = [&](Value x, std::int64_t in, std::int64_t out) {
    return b.add("conv", {x, b.constant(Tensor::random(f32({out, in, 3, 3}), random))},
                 {{"strides", Integers{1, 1}},
                  {"pads", Integers{1, 1, 1, 1}},
                  {"dilations", Integers{1, 1}}});
  };
  const Value x = b.add("relu", {convolved(b.input("x", f32({1, 8, 9, 7})), 8, 16)});
  b.output("y", convolved(tail(b, biased(b, convolved(x, 16, 16), {16, 1, 1})), 16, 8));
  return *std::move(b).finish();
}

}  // namespace egret::backends
