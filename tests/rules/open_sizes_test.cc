// SPDX-License-Identifier: Apache-2.0
#include "rules/tensors/open_sizes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ir/evaluate/interpreter.h"
#include "ir/graph/builder.h"
#include "rules/tensors/admitted_rules.h"
#include "rules/tensors/saturated_graph.h"
#include "tests/rules/smallest_selection.h"

namespace egret::rules {
namespace {

using ir::DType;
using ir::GraphBuilder;
using ir::Index;
using ir::Integers;
using ir::TensorType;
using ir::Value;

// A program over open sizes, saturated with all proven rules; the graph with the fewest operators.
class OpenProgram : public testing::Test {
 protected:
  Index size(const char* name, std::int64_t example) {
    return sizes_.scope().symbol(name, example);
  }

  ir::Graph smallest(GraphBuilder& builder) {
    auto graph = builder.finish();
    EXPECT_TRUE(graph.ok()) << graph.status().message();
    program_ = *graph;
    const auto rules = AdmittedRules::select("default", "untested");
    EXPECT_TRUE(rules.ok()) << rules.status().message();
    auto saturated = saturate(program_, *rules, {}, 1, {}, &sizes_);
    EXPECT_TRUE(saturated.ok()) << saturated.status().message();
    const auto result = saturated->tensors->to_graph(fewest_operators(*saturated->tensors));
    EXPECT_TRUE(result.ok()) << result.status().message();
    return *result;
  }

  void expect_equal_at(const ir::Graph& result, const ir::SymbolValues& values) {
    const auto before = at_sizes(program_, values);
    const auto after = at_sizes(result, values);
    ASSERT_TRUE(before.ok() && after.ok()) << before.status().message() << after.status().message();
    base::Random random(3);
    std::vector<ir::Tensor> inputs;
    for (const ir::NodeId input : before->inputs())
      inputs.push_back(ir::Tensor::random(before->node(input).type, random));
    const auto expected = ir::interpret(*before, inputs);
    const auto actual = ir::interpret(*after, inputs);
    ASSERT_TRUE(expected.ok() && actual.ok());
    for (std::size_t i = 0; i < expected->size(); ++i) {
      ASSERT_EQ((*expected)[i].type(), (*actual)[i].type());
      for (std::int64_t k = 0; k < (*expected)[i].elements(); ++k)
        EXPECT_NEAR((*expected)[i].f64_at(k), (*actual)[i].f64_at(k), 1e-4);
    }
  }

  OpenSizes sizes_;
  ir::Graph program_;
};

TEST_F(OpenProgram, RulesApplyThatHoldForAllSizes) {
  GraphBuilder b;
  const Index n = size("n", 4);
  const Value x = b.input("x", TensorType(DType::kF32, ir::Dims{n, 8}));
  const Value back = b.add("transpose", {b.add("transpose", {x}, {{"perm", Integers{1, 0}}})},
                           {{"perm", Integers{1, 0}}});
  b.output("y", b.add("relu", {b.add("relu", {back})}));
  const ir::Graph result = smallest(b);
  EXPECT_EQ(result.operator_count(), 1U);
  for (const std::int64_t n_value : {1, 3, 7}) expect_equal_at(result, {{"n", n_value}});
}

TEST_F(OpenProgram, ReshapesToOpenSizesMeet) {
  GraphBuilder b;
  const Index n = size("n", 4);
  const Index s = size("s", 6);
  const Value x = b.input("x", TensorType(DType::kF32, ir::Dims{n, s, 8}));
  const auto integer = [&](Index value) { return sizes_.scope().integer_of(value); };
  const Value flat = b.add("reshape", {x}, {{"shape", Integers{integer(n * s), 8}}});
  const Value again = b.add("reshape", {flat}, {{"shape", Integers{integer(n), integer(s), 8}}});
  b.output("y", b.add("relu", {again}));
  const ir::Graph result = smallest(b);
  EXPECT_EQ(result.operator_count(), 1U);
  expect_equal_at(result, {{"n", 2}, {"s", 5}});
}

// The rule would hold for the example's size 8 alone.
TEST_F(OpenProgram, RulesDoNotApplyThatHoldForSomeSizes) {
  GraphBuilder b;
  const Index n = size("n", 8);
  const Value x = b.input("x", TensorType(DType::kF32, ir::Dims{n, 3}));
  b.output("y", b.add("slice", {b.add("relu", {x})},
                      {{"axis", std::int64_t{0}},
                       {"start", std::int64_t{0}},
                       {"size", std::int64_t{8}},
                       {"step", std::int64_t{1}}}));
  const ir::Graph result = smallest(b);
  EXPECT_EQ(result.operator_count(), 2U);  // drop-slice would leave one
  EXPECT_GT(sizes_.undecided(), 0);
  expect_equal_at(result, {{"n", 11}});
}

TEST_F(OpenProgram, ProductsThatShareAnOperandAreJoined) {
  GraphBuilder b;
  const Index n = size("n", 4);
  base::Random random(1);
  const Value x = b.input("x", TensorType(DType::kF32, ir::Dims{n, 8}));
  const Value v = b.constant(ir::Tensor::random({DType::kF32, {8, 5}}, random));
  const Value w = b.constant(ir::Tensor::random({DType::kF32, {8, 5}}, random));
  b.output("y", b.add("add", {b.add("matmul", {x, v}), b.add("matmul", {x, w})}));
  const ir::Graph result = smallest(b);
  EXPECT_EQ(result.operator_count(), 2U);  // x * (v + w), the sum folded later
  expect_equal_at(result, {{"n", 1}});
  expect_equal_at(result, {{"n", 9}});
}

// y = x[N] + x[M] needs N == M, and a window of 5 needs at least 5 elements: the examples follow.
TEST_F(OpenProgram, ExamplesAreSettledByWhatTheProgramRequires) {
  GraphBuilder b;
  const Value x = b.input("x", TensorType(DType::kF32, ir::Dims{size("N", 7), Index(3)}));
  const Value y = b.input("y", TensorType(DType::kF32, ir::Dims{size("M", 2), Index(3)}));
  b.output("sum", b.add("add", {x, y}));
  const auto program = b.finish();
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_FALSE(at_sizes(*program, sizes_.examples()).ok());
  ASSERT_TRUE(sizes_.settle(*program).ok());
  EXPECT_TRUE(at_sizes(*program, sizes_.examples()).ok());
  EXPECT_EQ(sizes_.examples().find("N")->second, sizes_.examples().find("M")->second);
  ASSERT_EQ(sizes_.profiles().size(), 1U);
  EXPECT_EQ(sizes_.profiles()[0].sizes, sizes_.examples());
}

// The operators that compute positions along an open axis give what the tables of known sizes do.
TEST_F(OpenProgram, ResizesOfOpenAxesAreThoseOfKnownOnes) {
  const Index height = size("height", 5);
  const Index wanted = size("wanted", 7);
  const TensorType type(DType::kF32, {2, height, 3});
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    for (const char* coordinates : {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                                    "align_corners", "asymmetric", "tf_half_pixel_for_nn"}) {
      for (const char* nearest : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}) {
        if (mode != std::string("nearest") && nearest != std::string("floor")) continue;
        for (const double scale : {0.0, 0.25, 0.5, 1.5, 2.0, 2.5}) {
          const bool symmetric = coordinates == std::string("half_pixel_symmetric");
          if (symmetric && mode == std::string("nearest") && scale != std::floor(scale)) continue;
          const auto over = static_cast<std::int64_t>(4 * scale);
          const Index target = scale == 0 ? wanted : div(height * over, 4);
          GraphBuilder builder;
          const Value x = builder.input("x", type);
          const Value y = builder.add("resize", {x},
                                      {{"axis", std::int64_t{1}},
                                       {"size", *ir::open_integer(target)},
                                       {"scale", scale},
                                       {"mode", std::string(mode)},
                                       {"coordinates", std::string(coordinates)},
                                       {"nearest", std::string(nearest)}});
          builder.output("y", y);
          auto graph = builder.finish();
          ASSERT_TRUE(graph.ok()) << graph.status().message();
          program_ = *graph;
          const auto computed = ir::expand_composites(program_);
          ASSERT_TRUE(computed.ok());
          ASSERT_GT(computed->operator_count(), 1);
          for (const std::int64_t length : {4, 5, 8, 13}) {
            SCOPED_TRACE(testing::Message() << mode << " " << coordinates << " " << nearest << " "
                                            << scale << " of " << length);
            for (const std::int64_t other : {1, 3, 10}) {
              if (scale == 0 || other == 3)
                expect_equal_at(*computed, {{"height", length}, {"wanted", other}});
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace egret::rules
