// SPDX-License-Identifier: Apache-2.0
#include "driver/measure/output_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>

#include "ir/evaluate/input_draws.h"
#include "ir/evaluate/interpreter.h"
#include "ir/graph/builder.h"

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

// Some engines compute functions with an absolute error: a sigmoid of 1e-6 is wrong by 1e-7 there.
TEST(OutputCheck, AllowsTwiceTheErrorsThatAnEngineMakesInTheOriginal) {
  const ir::Graph graph = product(1);
  const auto expected = OutputCheck::of(graph, CheckOptions{});
  ASSERT_TRUE(expected.ok());
  const auto wrong_by = [&](float error) {
    return [&graph, error](std::span<const ir::Tensor> inputs) {
      auto outputs = ir::interpret(graph, inputs, {.precision = ir::Precision::kF32});
      for (float& value : (*outputs)[0].mutable_as<float>()) value += error;
      return outputs;
    };
  };
  EXPECT_FALSE(expected->check(wrong_by(3e-3F))->passed);
  EXPECT_TRUE(expected->check(wrong_by(3e-3F), wrong_by(2e-3F))->passed);
  EXPECT_FALSE(expected->check(wrong_by(5e-3F), wrong_by(2e-3F))->passed);
  const auto broken = [](std::span<const ir::Tensor>) {
    return base::Result<std::vector<ir::Tensor>>(base::unavailable("gone"));
  };
  EXPECT_FALSE(expected->check(wrong_by(3e-3F), broken)->passed);
  EXPECT_TRUE(expected->check(wrong_by(0), broken)->passed);
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

// y = (x * w > t) of sums of which one is within rounding of its threshold, as many as make the
// graph a large one.
TEST(OutputCheck, AnElementThatRoundingDecidesIsLeftOutByItself) {
  constexpr std::int64_t kRows = 256;
  constexpr std::int64_t kDepth = 1024;
  const auto graph = [&](bool compares) {
    ir::GraphBuilder b;
    const Value x = b.input("x", {DType::kF32, {kRows, kDepth}});
    const Value w = b.input("w", {DType::kF32, {kDepth, kRows}});
    const Value t = b.input("t", {DType::kF32, {kRows, kRows}});
    Value y = b.add("matmul", {x, w});
    if (compares) y = b.add("cast", {b.add("greater", {y, t})}, {{"to", std::string("f32")}});
    b.output("y", y);
    return *b.finish();
  };
  base::Random random(5);
  std::vector<ir::Tensor> inputs = ir::random_inputs(graph(false), random);
  const ir::Tensor sums = ir::interpret(graph(false), inputs)->front();
  const auto inputs_with = [&](std::int64_t wrong) {
    for (std::int64_t i = 0; i < sums.elements(); ++i)
      inputs[2].set_f64(i, sums.f64_at(i) - (i == wrong ? -1 : 1));
    inputs[2].set_f64(7, sums.f64_at(7) + 5e-7 * std::abs(sums.f64_at(7)));
    return inputs;
  };
  const auto expected = OutputCheck::of(graph(true), inputs_with(-1), CheckOptions{});
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  const auto check = [&](std::uint64_t seed, const std::vector<ir::Tensor>& given) {
    return *expected->check([&](std::span<const ir::Tensor>) {
      return ir::interpret(graph(true), given, {.perturbation = 0x1p-24, .seed = seed});
    });
  };
  std::int64_t unstable = 0;
  for (std::uint64_t seed = 100; seed < 116; ++seed) {
    const CheckReport report = check(seed, inputs_with(-1));
    EXPECT_TRUE(report.passed) << seed << ": " << to_string(report);
    unstable += report.outputs[0].unstable;
    const CheckReport other = check(seed, inputs_with(8));
    EXPECT_FALSE(other.passed) << seed << ": " << to_string(other);
    EXPECT_EQ(other.outputs[0].wrong, 1);
  }
  EXPECT_GT(unstable, 1);
}

// x * 1e30 * 1e30 * 1e-30, the last two only where it is said.
ir::Graph large(bool overflows) {
  ir::GraphBuilder b;
  Value y = b.add("mul", {b.input("x", {DType::kF32, {4}}), b.scalar(DType::kF32, 1e30)});
  if (overflows) {
    y = b.add("mul", {y, b.scalar(DType::kF32, 1e30)});
    y = b.add("mul", {y, b.scalar(DType::kF32, 1e-30)});
  }
  b.output("y", y);
  return *b.finish();
}

TEST(OutputCheck, SaysWhichOfTheTwoOverflows) {
  const auto both = compare(large(true), large(true));
  ASSERT_TRUE(both.ok()) << both.status().message();
  EXPECT_FALSE(both->passed);
  EXPECT_EQ(both->outputs[0].overflowed, 4);
  EXPECT_EQ(both->outputs[0].original_overflowed, 4);
  EXPECT_NE(to_string(*both).find("'y' is not finite in 4 elements, and neither is the original"),
            std::string::npos)
      << to_string(*both);
  EXPECT_NE(mismatch_of(*both).message().find("both the original and the optimized graph"),
            std::string::npos);
  EXPECT_EQ(mismatch_of(*both).message().find("computes wrong values"), std::string::npos);

  const auto one = compare(large(false), large(true));
  ASSERT_TRUE(one.ok()) << one.status().message();
  EXPECT_FALSE(one->passed);
  EXPECT_EQ(one->outputs[0].overflowed, 4);
  EXPECT_EQ(one->outputs[0].original_overflowed, 0);
  EXPECT_NE(
      mismatch_of(*one).message().find("the optimized graph computes wrong values of output 'y'"),
      std::string::npos);
  EXPECT_NE(mismatch_of(*one).message().find("the original is finite there"), std::string::npos);
}

// x * 1e38 / 1e38 overflows where |x| > 3.4, which few elements are.
TEST(OutputCheck, LeavesElementsOutThatOverflowInTheOriginal) {
  const auto graph = [](double factor) {
    ir::GraphBuilder b;
    const Value large = b.scalar(DType::kF32, 1e38);
    const Value y = b.add("mul", {b.input("x", {DType::kF32, {1000}}), large});
    b.output("y", b.add("mul", {b.add("div", {y, large}), b.scalar(DType::kF32, factor)}));
    return *b.finish();
  };
  const auto same = compare(graph(1), graph(1));
  ASSERT_TRUE(same.ok()) << same.status().message();
  EXPECT_TRUE(same->passed) << to_string(*same);
  EXPECT_GT(same->outputs[0].original_overflowed, 0);
  EXPECT_LT(same->outputs[0].original_overflowed, 100);
  EXPECT_LT(same->max_error, 1e-5);
  const auto wrong = compare(graph(1), graph(2));
  EXPECT_FALSE(wrong->passed);
  EXPECT_FALSE(wrong->only_original_overflows());
}

// Fewer elements are wrong than overflow, and only large ones: smaller inputs would hide them.
TEST(OutputCheck, DoesNotTakeWrongElementsForOverflows) {
  const auto graph = [](bool wrong) {
    ir::GraphBuilder b;
    const Value large = b.scalar(DType::kF32, 1e38);
    const Value x = b.input("x", {DType::kF32, {4000}});
    Value y = b.add("div", {b.add("mul", {x, large}), large});
    if (wrong) {
      const Value beyond = b.add("relu", {b.add("sub", {x, b.scalar(DType::kF32, 3)})});
      y = b.add("add", {y, b.add("mul", {beyond, b.scalar(DType::kF32, 0.5)})});
    }
    b.output("y", y);
    return *b.finish();
  };
  const ir::Graph original = graph(false), candidate = graph(true);
  const auto report = OutputCheck::compare(original, {}, [&](std::span<const ir::Tensor> inputs) {
    return ir::interpret(candidate, inputs, {.precision = ir::Precision::kF32});
  });
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_GT(report->outputs[0].left_out, report->outputs[0].wrong);
  EXPECT_FALSE(report->passed);
}

TEST(OutputCheck, DrawsSmallerInputsWhereTheOriginalOverflows) {
  const auto graph = [](double factor) {
    ir::GraphBuilder b;
    const Value large = b.scalar(DType::kF32, 3e38);
    const Value x = b.input("x", {DType::kF32, {400}});
    const Value sum = b.add("reduce_sum", {b.add("mul", {x, large})}, {{"axes", ir::Integers{0}}});
    b.output("y", b.add("mul", {b.add("div", {sum, large}), b.scalar(DType::kF32, factor)}));
    return *b.finish();
  };
  const ir::Graph original = graph(1);
  const auto run = [](const ir::Graph& candidate) {
    return [&candidate](std::span<const ir::Tensor> inputs) {
      return ir::interpret(candidate, inputs, {.precision = ir::Precision::kF32});
    };
  };
  EXPECT_FALSE(OutputCheck::of(original, {})->check(run(original))->passed);
  const auto same = OutputCheck::compare(original, {}, run(original));
  ASSERT_TRUE(same.ok()) << same.status().message();
  EXPECT_TRUE(same->passed) << to_string(*same);
  EXPECT_GT(same->shrunk, 0);
  EXPECT_NE(to_string(*same).find("on small inputs"), std::string::npos);
  const ir::Graph wrong = graph(2);
  EXPECT_FALSE(OutputCheck::compare(original, {}, run(wrong))->passed);
}

// Rounding by a large constant, which the exact reference does not do: the original's own error is
// half a unit, and the bound is larger than the range of x.
TEST(OutputCheck, DoesNotTellOutputsApartThatRoundingMovesByTheirRange) {
  const auto graph = [](bool rounds) {
    ir::GraphBuilder b;
    Value y = b.input("x", {DType::kF32, {64}});
    if (rounds) {
      const Value large = b.scalar(DType::kF32, 12582912);
      y = b.add("sub", {b.add("add", {y, large}), large});
    }
    b.output("y", y);
    return *b.finish();
  };
  const auto report = compare(graph(true), graph(false));
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_THAT(report->not_told_apart, ::testing::ElementsAre("y"));
  EXPECT_NE(to_string(*report).find("NOT TOLD APART"), std::string::npos) << to_string(*report);
  EXPECT_THAT(compare(graph(false), graph(false))->not_told_apart, ::testing::IsEmpty());
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

TEST(OutputCheck, AnOutputThatShowsNothingChangesNoOthersBound) {
  const auto bound = [](bool saturated) {
    ir::GraphBuilder b;
    base::Random random(5);
    const Value x = b.input("x", {DType::kF32, {8, 64}});
    const Value w = b.constant(ir::Tensor::random({DType::kF32, {64, 8}}, random));
    const Value y = b.add("matmul", {x, w});
    b.output("y", y);
    const Value large = b.add("mul", {y, b.scalar(DType::kF32, 1e12)});
    if (saturated) b.output("p", b.add("softmax", {large}, {{"axis", std::int64_t{1}}}));
    const ir::Graph graph = *b.finish();
    return compare(graph, graph)->outputs[0].bound;
  };
  EXPECT_NEAR(bound(true), bound(false), 0.5 * bound(false));
}

TEST(OutputCheck, SaysSoWhereOutputsShowNothing) {
  EXPECT_EQ(compare(product(1), product(1))->vacuous, "");
  EXPECT_EQ(compare(product(0), product(0))->vacuous, "y");
}

// A convolution by Winograd's algorithm subtracts the infinities of a model that overflowed before.
TEST(OutputCheck, DoesNotTellNonFiniteValuesApartWhereAllAre) {
  const auto graph = [](const char* last) {
    ir::GraphBuilder b;
    const Value x = b.input("x", {DType::kF32, {4}});
    const Value large = b.add(
        "exp",
        {b.add("exp", {b.add("exp", {b.add("exp", {b.add("add", {b.add("abs", {x}),
                                                                 b.scalar(DType::kF32, 2)})})})})});
    b.output("y", last == std::string("inf")   ? large
                  : last == std::string("nan") ? b.add("sub", {large, large})
                                               : b.add("relu", {x}));
    return *b.finish();
  };
  const auto same = compare(graph("inf"), graph("nan"));
  ASSERT_TRUE(same.ok()) << same.status().message();
  EXPECT_TRUE(same->passed) << to_string(*same);
  EXPECT_EQ(same->vacuous, "y");
  EXPECT_FALSE(compare(graph("inf"), graph("finite"))->passed);
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
