// SPDX-License-Identifier: Apache-2.0
#include "tests/backends/attention_block.h"

#include <gtest/gtest.h>

#include "ir/graph/builder.h"

namespace egret::backends {

using ir::Integers;
using ir::Shape;
using ir::TensorType;
using ir::Value;

ir::Graph attention_block(std::int64_t batch, std::int64_t head) {
  ir::GraphBuilder b;
  base::Random random(1);
  const std::int64_t width = 2 * head;
  const auto weights = [&](const Shape& sizes) {
    return b.constant(ir::Tensor::random(TensorType(ir::DType::kF32, sizes), random));
  };
  const auto turned = [&](Value x, const Integers& axes) {
    return b.add("transpose", {x}, {{"perm", axes}});
  };
  const Value x = b.input("x", TensorType(ir::DType::kF32, Shape{batch, 64, width}));
  const auto heads = [&] {
    const Value projected = b.add("matmul", {x, weights({width, width})});
    const Value split = b.add("reshape", {projected}, {{"shape", Integers{batch, 64, 2, head}}});
    return turned(split, Integers{0, 2, 1, 3});
  };
  const Value q = heads(), k = heads(), v = heads();
  const Value scores = b.add("matmul", {q, turned(k, Integers{0, 1, 3, 2})});
  const Value scaled = b.add("mul", {scores, b.scalar(ir::DType::kF32, 0.1)});
  const Value shares = b.add("softmax", {scaled}, {{"axis", std::int64_t{3}}});
  const Value mixed = turned(b.add("matmul", {shares, v}), Integers{0, 2, 1, 3});
  const Value joined = b.add("reshape", {mixed}, {{"shape", Integers{batch, 64, width}}});
  const Value sum = b.add("add", {x, b.add("matmul", {joined, weights({width, width})})});
  b.output("y", b.add("layer_norm", {sum, weights({width}), weights({width})},
                      {{"axis", std::int64_t{2}}}));
  auto graph = std::move(b).finish();
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return *std::move(graph);
}

ir::Graph masked_attention(std::int64_t width, bool shows_weights) {
  ir::GraphBuilder b;
  const Value x =
      b.add("tanh", {b.input("x", ir::TensorType(ir::DType::kF32, Shape{2, 3, 40, width}))});
  const Value turned = b.add("transpose", {x}, {{"perm", Integers{0, 1, 3, 2}}});
  Value scores = b.add("matmul", {x, turned});
  scores = b.add("div", {scores, b.scalar(ir::DType::kF32, 5)});
  base::Random random(3);
  scores = b.add(
      "add",
      {b.constant(ir::Tensor::random(ir::TensorType(ir::DType::kF32, {40, 40}), random)), scores});
  const Value shares = b.add("softmax", {scores}, {{"axis", std::int64_t{3}}});
  if (shows_weights) b.output("shares", shares);
  const Value y = b.add("matmul", {shares, x});
  b.output("y", b.add("relu", {b.add("transpose", {y}, {{"perm", Integers{0, 2, 1, 3}}})}));
  return *std::move(b).finish();
}

ir::Graph merged_attention(std::int64_t head) {
  constexpr std::int64_t kHeads = 2, kRows = 64;
  const std::int64_t width = kHeads * head;
  ir::GraphBuilder b;
  base::Random random(2);
  const ir::Value x = b.input("x", ir::TensorType(ir::DType::kF32, {1, kRows, width}));
  const ir::Value w =
      b.constant(ir::Tensor::random(ir::TensorType(ir::DType::kF32, {width, 3 * width}), random));
  const ir::Value all = b.add("matmul", {x, w});
  const auto part = [&](std::int64_t number) {
    const ir::Value own = b.add("slice", {all},
                                {{"axis", std::int64_t{2}},
                                 {"start", number * width},
                                 {"size", width},
                                 {"step", std::int64_t{1}}});
    const ir::Value heads =
        b.add("reshape", {own}, {{"shape", ir::Integers{1, kRows, kHeads, head}}});
    return b.add("transpose", {heads}, {{"perm", ir::Integers{0, 2, 1, 3}}});
  };
  const ir::Value q = part(0), k = part(1), v = part(2);
  const ir::Value scores =
      b.add("matmul", {q, b.add("transpose", {k}, {{"perm", ir::Integers{0, 1, 3, 2}}})});
  const ir::Value scaled =
      b.add("mul", {scores, b.scalar(ir::DType::kF32, 1.0 / static_cast<double>(head))});
  b.output("y", b.add("matmul", {b.add("softmax", {scaled}, {{"axis", std::int64_t{3}}}), v}));
  return *std::move(b).finish();
}

}  // namespace egret::backends
