// SPDX-License-Identifier: Apache-2.0
// The scores of one query, with keys as they lie or transposed by their producer.
#include <gtest/gtest.h>

#include <utility>

#include "base/random.h"
#include "ir/graph/builder.h"
#include "tests/backends/graph_compare.h"

namespace egret::backends {
namespace {

using ir::DType;
using ir::GraphBuilder;
using ir::Integers;
using ir::Shape;
using ir::Value;

class KeyProducts : public ::testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, KeyProducts, ::testing::Range<std::uint64_t>(0, 40));

Integers with_last_two_swapped(std::size_t rank) {
  Integers perm;
  for (std::size_t i = 0; i < rank; ++i) perm.push_back(static_cast<std::int64_t>(i));
  std::swap(perm[rank - 1], perm[rank - 2]);
  return perm;
}

TEST_P(KeyProducts, WithChainsAndBatches) {
  GraphBuilder b;
  base::Random random(GetParam());
  const auto pick = [&](std::initializer_list<std::int64_t> values) {
    return values.begin()[random.below(values.size())];
  };
  const std::int64_t width = pick({15, 16, 24, 64, 77, 128, 512, 513}),
                     keys = pick({1, 2, 3, 4, 7, 511, 512, 513, 1030}), rows = pick({1, 1, 2});
  Shape batch;
  for (std::int64_t axes = random.between(0, 2); axes > 0; --axes)
    batch.push_back(random.between(1, 3));
  const auto of = [&](std::int64_t r, std::int64_t c) {
    Shape shape = batch;
    shape.push_back(r);
    shape.push_back(c);
    return ir::TensorType(DType::kF32, shape);
  };
  Value k;
  if (batch.size() == 2 && random.chance(0.5)) {  // [n, keys, heads, width], whose keys lie apart
    const Shape apart{batch[0], keys, batch[1], width};
    k = b.add("transpose", {b.input("k", {DType::kF32, apart})}, {{"perm", Integers{0, 2, 3, 1}}});
  } else {
    k = b.add("transpose", {b.input("k", of(keys, width))},
              {{"perm", with_last_two_swapped(batch.size() + 2)}});
  }
  Value y = b.add("matmul", {b.input("q", of(rows, width)), k});
  if (random.chance(0.5)) y = b.add("mul", {y, b.scalar(DType::kF32, 0.125)});
  if (random.chance(0.5)) y = b.add("add", {y, b.input("z", of(rows, keys))});
  if (random.chance(0.3)) y = b.add("add", {y, b.input("mask", {DType::kF32, {keys}})});
  if (random.chance(0.3)) y = b.add("tanh", {y});
  b.output("y", y);
  const auto graph = b.finish();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_TRUE(expect_matches_reference(*graph, GetParam()).fallbacks.empty());
}

TEST(KeyProduct, StreamsTheKeysOfOneQuery) {
  const auto implementation = [](std::int64_t rows) {
    GraphBuilder b;
    const Value k = b.add("transpose", {b.input("k", {DType::kF32, {2, 64, 32}})},
                          {{"perm", with_last_two_swapped(3)}});
    b.output("y", b.add("matmul", {b.input("q", {DType::kF32, {2, rows, 32}}), k}));
    const PlanReport report = expect_matches_reference(*b.finish(), 1);
    return report.kernels.size() == 1 ? report.kernels[0].implementation : "several kernels";
  };
  EXPECT_EQ(implementation(1), "own:keys");
  EXPECT_NE(implementation(2), "own:keys");
}

}  // namespace
}  // namespace egret::backends
