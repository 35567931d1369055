// SPDX-License-Identifier: Apache-2.0
#include "parallel/ring/table_rows.h"

#include <gtest/gtest.h>

#include "ir/evaluate/interpreter.h"
#include "tests/parallel/model.h"

namespace egret::parallel {
namespace {

TEST(TableRows, LookupsInBlocksAddUpToTheLookup) {
  base::Random random(5);
  int checked = 0;
  for (const std::int64_t axis : {0, 1, 2}) {
    for (const ir::Shape& shape : {ir::Shape{}, ir::Shape{7}, ir::Shape{2, 3}}) {
      const ir::Tensor table = ir::Tensor::random({ir::DType::kF32, {12, 12, 12}}, random);
      ir::Tensor indices(ir::DType::kI64, shape);
      for (std::int64_t i = 0; i < indices.elements(); ++i)
        indices.set_i64(i, random.between(-30, 30));  // they count modulo the size
      const ir::Tensor expected =
          ir::evaluate(ir::get_operator("gather"), {{"axis", axis}}, std::vector{table, indices})
              .value();
      for (const std::int64_t blocks : {1, 2, 3, 12}) {
        const auto graph = lookup_in_blocks(table.type(), indices.type(), axis, blocks);
        ASSERT_TRUE(graph.ok()) << graph.status().message();
        const auto found = ir::interpret(*graph, std::vector<ir::Tensor>{table, indices});
        ASSERT_TRUE(found.ok()) << found.status().message();
        ASSERT_EQ(ir::to_string(found->front().type()), ir::to_string(expected.type()));
        for (std::int64_t i = 0; i < expected.elements(); ++i)
          ASSERT_EQ(found->front().f64_at(i), expected.f64_at(i));
        ++checked;
      }
      EXPECT_FALSE(lookup_in_blocks(table.type(), indices.type(), axis, 5).ok());
    }
  }
  EXPECT_EQ(checked, 36);
}

// The number of rows is a number of the indices' type in the equation.
TEST(TableRows, AreCountedInTheTypeOfTheIndices) {
  const auto of = [](std::int64_t rows, ir::DType dtype) {
    return lookup_in_blocks({ir::DType::kF32, {rows, 3}}, {dtype, {5}}, 0, 2).ok();
  };
  EXPECT_FALSE(of(300, ir::DType::kU8));
  EXPECT_FALSE(of(256, ir::DType::kU8));
  EXPECT_TRUE(of(254, ir::DType::kU8));
  EXPECT_FALSE(of(128, ir::DType::kI8));
  EXPECT_TRUE(of(300, ir::DType::kI16));
  EXPECT_TRUE(of(300, ir::DType::kU64));
  // The largest table of u8, by all indices.
  base::Random random(3);
  const ir::Tensor table = ir::Tensor::random({ir::DType::kF32, {254, 3}}, random);
  ir::Tensor indices(ir::DType::kU8, ir::Shape{256});
  for (std::int64_t i = 0; i < 256; ++i) indices.set_i64(i, i);
  const auto graph = lookup_in_blocks(table.type(), indices.type(), 0, 2);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const auto found = ir::interpret(*graph, std::vector<ir::Tensor>{table, indices});
  ASSERT_TRUE(found.ok()) << found.status().message();
  for (std::int64_t i = 0; i < 256; ++i)
    ASSERT_EQ(found->front().f64_at(3 * i), table.f64_at(3 * (i % 254))) << i;
}

constexpr std::int64_t kLooked = 512;  // words

// Embeddings of words, whose 15 numbers devices cannot share evenly, and their product.
ir::Graph embedding(std::int64_t words) {
  ir::GraphBuilder b;
  base::Random random(7);
  const ir::Value i = b.input("i", {ir::DType::kI64, {kLooked}});
  const ir::Value e =
      b.constant(ir::Tensor::random({ir::DType::kF32, {words, 15}}, random), "table");
  const ir::Value w = b.constant(ir::Tensor::random({ir::DType::kF32, {15, 15}}, random), "w");
  b.output("y", b.add("matmul", {b.add("gather", {e, i}), w}));
  return b.finish().value();
}

TEST(TableRows, AreCutWhereATableDoesNotFit) {
  constexpr std::int64_t kWords = 8192;
  for (const std::int64_t p : {4, 8}) {
    const Cluster machine = machine_of("x=" + std::to_string(p));
    const auto free = plan_of(embedding(kWords), machine);
    ASSERT_TRUE(free.ok()) << free.status().message();
    EXPECT_EQ(placement_of(*free, "table"), "x:R");
    ParallelPlanOptions options;
    options.device_memory = kWords * 15 * 4 / p + 3 * kLooked * 60;
    const auto tight = plan_of(embedding(kWords), machine, options);
    ASSERT_TRUE(tight.ok()) << tight.status().message();
    EXPECT_EQ(placement_of(*tight, "table"), "x:S(0)");
    EXPECT_LE(tight->memory_bytes, static_cast<double>(options.device_memory));
    // Partial sums are added and shared, in one step or two.
    double sent = 0;
    for (const Communication& one : tight->communication) sent += one.bytes;
    EXPECT_DOUBLE_EQ(sent, static_cast<double>(2 * (p - 1) * kLooked * 15 * 4 / p))
        << communication(*tight);
  }
}

// By both axes of a mesh: each of the four devices has a quarter of the rows.
TEST(TableRows, AreCutAlongTwoAxes) {
  constexpr std::int64_t kWords = 8192;
  ParallelPlanOptions options;
  options.device_memory = kWords * 15 * 4 / 4 + 3 * kLooked * 60;
  options.extract_time = 2;
  const auto plan = plan_of(embedding(kWords), machine_of("x=2,y=2"), options);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(placement_of(*plan, "table"), "x:S(0),y:S(0)");
  EXPECT_LE(plan->memory_bytes, static_cast<double>(options.device_memory));
}

}  // namespace
}  // namespace egret::parallel
