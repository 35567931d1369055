// SPDX-License-Identifier: Apache-2.0
#include "driver/sized_plans.h"

#include <gtest/gtest.h>

#include "ir/graph/builder.h"

namespace egret::driver {
namespace {

using ir::DType;
using ir::Tensor;

// y[batch, 3] = x[batch, seq, 3] * w[seq, 1], summed over seq.
std::string model() {
  ir::GraphBuilder b;
  const ir::Index batch = ir::symbolic_dim("batch");
  const ir::Index seq = ir::symbolic_dim("seq");
  const ir::Value x = b.input("x", {DType::kF32, ir::Dims{batch, seq, 3}});
  const ir::Value w = b.input("w", {DType::kF32, ir::Dims{seq, 1}});
  b.output("y", b.add("reduce_sum", {b.add("mul", {x, w})},
                      {{"axes", ir::Integers{1}}, {"keepdims", std::int64_t{0}}}));
  return frontends::export_onnx(*b.finish(), {})->bytes;
}

SizedPlans plans(SizedPlanOptions options = {}) {
  const std::string bytes = model();
  options.compile.threads = 1;
  auto made = SizedPlans::of_bytes(std::as_bytes(std::span(bytes)), "", std::move(options));
  EXPECT_TRUE(made.ok()) << made.status().message();
  return *std::move(made);
}

std::vector<Tensor> inputs(std::int64_t batch, std::int64_t seq) {
  return {Tensor::filled({DType::kF32, {batch, seq, 3}}, 2),
          Tensor::filled({DType::kF32, {seq, 1}}, 5)};
}

TEST(SizedPlans, OnePlanIsMadeForEachAssignmentOfSizes) {
  SizedPlans all = plans();
  for (const auto& [batch, seq] : {std::pair(1, 4), std::pair(2, 7), std::pair(1, 4)}) {
    const auto outputs = all.run(inputs(batch, seq));
    ASSERT_TRUE(outputs.ok()) << outputs.status().message();
    EXPECT_EQ(outputs->front().shape(), (ir::Shape{batch, 3}));
    EXPECT_EQ(outputs->front().f64_at(0), 10.0 * seq);
  }
  EXPECT_EQ(all.made(), 2);
  EXPECT_EQ(all.kept(), 2U);
}

TEST(SizedPlans, ThePlanThatWasUsedTheLongestTimeAgoGoesFirst) {
  SizedPlans all = plans({.most_plans = 2});
  for (const std::int64_t seq : {1, 2, 1, 3, 1}) ASSERT_TRUE(all.run(inputs(1, seq)).ok());
  EXPECT_EQ(all.made(), 3);  // 1 stayed
  EXPECT_EQ(all.kept(), 2U);
  ASSERT_TRUE(all.run(inputs(1, 2)).ok());
  EXPECT_EQ(all.made(), 4);
}

TEST(SizedPlans, InputsMustAgreeOnTheirSizes) {
  SizedPlans all = plans();
  std::vector<Tensor> given = inputs(1, 4);
  given[1] = Tensor::filled({DType::kF32, {5, 1}}, 5);
  const auto outputs = all.run(given);
  ASSERT_EQ(outputs.status().code(), base::StatusCode::kBadInput);
  EXPECT_NE(outputs.status().message().find("axis 0 of input 'w' makes size 'seq' 5"),
            std::string_view::npos)
      << outputs.status().message();
  EXPECT_EQ(all.made(), 0);
}

TEST(SizedPlans, InputsMustHaveTheTypesOfTheModel) {
  SizedPlans all = plans();
  std::vector<Tensor> given = inputs(1, 4);
  given[0] = Tensor::filled({DType::kF32, {1, 4, 2}}, 1);
  EXPECT_EQ(all.run(given).status().code(), base::StatusCode::kBadInput);
  given[0] = Tensor::filled({DType::kF64, {1, 4, 3}}, 1);
  EXPECT_EQ(all.run(given).status().code(), base::StatusCode::kBadInput);
  given.pop_back();
  EXPECT_EQ(all.run(given).status().code(), base::StatusCode::kBadInput);
}

TEST(SizedPlans, SizesMayBeFixedForAllRuns) {
  SizedPlanOptions options;
  options.import.bind["seq"] = 4;
  SizedPlans all = plans(std::move(options));
  EXPECT_TRUE(all.run(inputs(3, 4)).ok());
  EXPECT_EQ(all.run(inputs(3, 5)).status().code(), base::StatusCode::kBadInput);
}

TEST(SizedPlans, TheBackendMustExist) {
  const std::string bytes = model();
  const auto made =
      SizedPlans::of_bytes(std::as_bytes(std::span(bytes)), "", {.backend = "abacus"});
  EXPECT_EQ(made.status().code(), base::StatusCode::kUsage);
}

}  // namespace
}  // namespace egret::driver
