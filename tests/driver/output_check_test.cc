// SPDX-License-Identifier: Apache-2.0
#include "driver/output_check.h"

#include <gtest/gtest.h>

#include <csignal>

#include "ir/builder.h"
#include "ir/interpreter.h"

namespace egret::driver {
namespace {

using ir::DType;
using ir::Value;

ir::Graph product(double scale) {
  ir::GraphBuilder b;
  base::Random random(5);
  const Value x = b.input("x", {DType::kF32, {8, 64}});
  const Value w = b.constant(ir::Tensor::random({DType::kF32, {64, 8}}, random));
  b.output("y", b.add("mul", {b.add("matmul", {x, w}), b.scalar(DType::kF32, scale)}));
  return *b.finish();
}

base::Result<CheckReport> compare(const ir::Graph& reference, const ir::Graph& candidate) {
  EGRET_ASSIGN_OR_RETURN(const OutputCheck expected, OutputCheck::of(reference, CheckOptions{}));
  return expected.check([&](std::span<const ir::Tensor> inputs) {
    return ir::interpret(candidate, inputs, {.precision = ir::Precision::kF32});
  });
}

TEST(OutputCheck, AcceptsRoundingAndRefusesSmallErrors) {
  const auto same = compare(product(1), product(1));
  ASSERT_TRUE(same.ok()) << same.status().message();
  EXPECT_TRUE(same->passed);
  EXPECT_GT(same->max_error, 0);
  EXPECT_LT(same->max_error, same->bound);
  const auto different = compare(product(1), product(1.0001));
  ASSERT_TRUE(different.ok());
  EXPECT_FALSE(different->passed);
  EXPECT_GT(different->outputs[0].wrong, 0);
}

TEST(OutputCheck, IntegersMustBeEqualUnlessRoundingDecidesThem) {
  const auto graph = [](bool largest) {
    ir::GraphBuilder b;
    const Value x = b.input("x", {DType::kF32, {4, 16}});
    b.output("y", b.add(largest ? "arg_max" : "arg_min", {x}, {{"axis", std::int64_t{1}}}));
    return *b.finish();
  };
  EXPECT_TRUE(compare(graph(true), graph(true))->passed);
  EXPECT_FALSE(compare(graph(true), graph(false))->passed);
}

TEST(OutputCheck, ASaturatedSoftmaxStillTellsRightFromWrong) {
  const auto graph = [](const char* last) {
    ir::GraphBuilder b;
    const Value x = b.input("x", {DType::kF32, {4, 16}});
    const Value w = b.constant(ir::Tensor::filled({DType::kF32, {16, 10}}, 1e12));
    const Value scores = b.add("matmul", {x, w});
    b.output("y", b.add(last, {scores}, {{"axis", std::int64_t{1}}}));
    return *b.finish();
  };
  EXPECT_TRUE(compare(graph("softmax"), graph("softmax"))->passed);
  EXPECT_FALSE(compare(graph("softmax"), graph("hardmax"))->passed);
}

TEST(OutputCheck, DividesNoIntegerByZero) {
  const auto graph = [](const char* op) {
    ir::GraphBuilder b;
    const Value x = b.input("x", {DType::kI64, {64}});
    const Value y = b.input("y", {DType::kI64, {64}});
    b.output("z", b.add(op, {x, y}));
    return *b.finish();
  };
  const auto same = compare(graph("div"), graph("div"));
  ASSERT_TRUE(same.ok()) << same.status().message();
  EXPECT_TRUE(same->passed);
  EXPECT_FALSE(compare(graph("div"), graph("mod"))->passed);
}

TEST(OutputCheck, SaysSoWhereOutputsShowNothing) {
  EXPECT_EQ(compare(product(1), product(1))->vacuous, "");
  EXPECT_EQ(compare(product(0), product(0))->vacuous, "y");
}

TEST(OutputCheck, EndsWhenItIsAskedTo) {
  base::request_stop(SIGINT);
  const auto stopped = OutputCheck::of(product(1), CheckOptions{});
  base::request_stop(0);
  EXPECT_EQ(stopped.status().code(), base::StatusCode::kLimit);
}

TEST(OutputCheck, OpenSizesAreAUsageErrorWithARemedy) {
  ir::GraphBuilder b;
  const Value x = b.input("x", {DType::kF32, ir::Dims{ir::symbolic_dim("N"), 4}});
  b.output("y", b.add("relu", {x}));
  const auto check = OutputCheck::of(*b.finish(), CheckOptions{});
  ASSERT_FALSE(check.ok());
  EXPECT_EQ(check.status().code(), base::StatusCode::kUsage);
  EXPECT_NE(check.status().message().find("--bind"), std::string::npos);
}

}  // namespace
}  // namespace egret::driver
