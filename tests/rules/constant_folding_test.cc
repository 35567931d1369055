// SPDX-License-Identifier: Apache-2.0
// Which operators decide, and that folding decides as running the model would.
#include "rules/tensors/constant_folding.h"

#include <gtest/gtest.h>

#include "ir/evaluate/interpreter.h"
#include "ir/graph/builder.h"
#include "rules/tensors/jumps.h"

namespace egret::rules {
namespace {

using ir::Attrs;
using ir::DType;
using ir::Tensor;
using ir::TensorType;
using ir::Value;

constexpr DType kF32 = DType::kF32;

using Ask = bool (*)(const ir::Operator&, const Attrs&, std::span<const TensorType>);

bool ask(Ask question, const char* op, const std::vector<TensorType>& types, const Attrs& attrs) {
  const auto canonical = canonical_attrs(ir::get_operator(op).attrs(), attrs);
  EXPECT_TRUE(canonical.ok()) << canonical.status().message();
  return question(ir::get_operator(op), *canonical, types);
}

bool jumps(const char* op, const std::vector<TensorType>& types, const Attrs& attrs = {}) {
  return ask(has_jumps, op, types, attrs);
}

bool does_round(const char* op, const std::vector<TensorType>& types, const Attrs& attrs = {}) {
  return ask(rounds, op, types, attrs);
}

TEST(HasJumps, SeesRoundingComparingAndCastingOfReals) {
  const TensorType x(kF32, {2, 3});
  EXPECT_TRUE(jumps("floor", {x}));
  EXPECT_TRUE(jumps("round", {x}));
  EXPECT_TRUE(jumps("less", {x, x}));
  EXPECT_TRUE(jumps("cast", {x}, {{"to", std::string("i32")}}));
  EXPECT_TRUE(jumps("arg_max", {x}, {{"axis", 1}}));
}

TEST(HasJumps, SeesThemInBodies) {
  const TensorType x(kF32, {2, 3});
  EXPECT_TRUE(jumps("quantize_linear", {x, {kF32, {}}}, {{"to", std::string("u8")}}));
  EXPECT_FALSE(jumps("gelu", {x}));
}

TEST(HasJumps, LeavesOutWhatIsSmoothOrHasNoReals) {
  const TensorType x(kF32, {2, 3});
  const TensorType n(DType::kI32, {2, 3});
  EXPECT_FALSE(jumps("relu", {x}));
  EXPECT_FALSE(jumps("matmul", {x, {kF32, {3, 4}}}));
  EXPECT_FALSE(jumps("transpose", {x}, {{"perm", ir::Integers{1, 0}}}));
  EXPECT_FALSE(jumps("where", {{DType::kBool, {2, 3}}, x, x}));
  EXPECT_FALSE(jumps("less", {n, n}));
  EXPECT_FALSE(jumps("cast", {n}, {{"to", std::string("f32")}}));
}

TEST(Rounds, NotWhereElementsOnlyMove) {
  const TensorType x(kF32, {2, 3});
  EXPECT_FALSE(does_round("concat", {x, x}, {{"axis", 1}}));
  EXPECT_FALSE(does_round("transpose", {x}, {{"perm", ir::Integers{1, 0}}}));
  EXPECT_FALSE(does_round("reshape", {x}, {{"shape", ir::Integers{6}}}));
  EXPECT_FALSE(does_round("max", {x, x}));
  EXPECT_FALSE(does_round("where", {{DType::kBool, {2, 3}}, x, x}));
}

TEST(Rounds, WhereTheyAreComputed) {
  const TensorType x(kF32, {2, 3});
  EXPECT_TRUE(does_round("add", {x, x}));
  EXPECT_TRUE(does_round("reduce_sum", {x}, {{"axes", ir::Integers{1}}}));
  EXPECT_TRUE(does_round("sqrt", {x}));
  EXPECT_TRUE(does_round("gelu", {x}));
  const TensorType wide(DType::kF64, {2, 3});
  EXPECT_TRUE(does_round("transpose", {wide}, {{"perm", ir::Integers{1, 0}}})) << "wider than f32";
}

// Two graphs on the same weights: what the first one folded is the second one's, too.
TEST(FoldConstants, FoldsWhatItKnowsOnce) {
  base::Random random(3);
  const Tensor w = Tensor::random({kF32, {4, 3}}, random);
  const auto make = [&](bool sum, const Tensor& weights) {
    ir::GraphBuilder b;
    const Value both = b.add("concat", {b.constant(weights), b.constant(w)}, {{"axis", 1}});
    b.output("y", sum ? b.add("add", {both, both}) : both);
    return b.finish().value();
  };
  FoldedValues known;
  const auto first = fold_constants(make(false, w), {.known = &known});
  const auto again = fold_constants(make(false, w), {.known = &known});
  const auto sum = fold_constants(make(true, w), {.known = &known});
  const Tensor other = Tensor::random({kF32, {4, 3}}, random);
  const auto of_other = fold_constants(make(false, other), {.known = &known});
  ASSERT_TRUE(first.ok() && again.ok() && sum.ok() && of_other.ok());
  const auto value = [](const base::Result<ir::Graph>& graph) {
    return graph->node(graph->outputs()[0].node).data;
  };
  EXPECT_EQ(value(again).data().data(), value(first).data().data()) << "held once";
  EXPECT_EQ(value(sum).f64_at(5), 2 * value(first).f64_at(5));
  EXPECT_EQ(value(of_other).f64_at(1), other.f64_at(1));
  EXPECT_EQ(value(first).f64_at(3), w.f64_at(0));
}

// -2.5 / (5 / 255) is -127.5, which rounds to -128; in f32 it is a little more.
TEST(FoldConstants, DecidesAsTheModelWouldRun) {
  ir::GraphBuilder b;
  const Value scale = b.add("div", {b.scalar(kF32, 5), b.scalar(kF32, 255)});
  const Value ratio = b.add("div", {b.scalar(kF32, -2.5), scale});
  b.output("rounded", b.add("round", {ratio}));
  b.output("ratio", ratio);
  const auto graph = b.finish();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const auto folded = fold_constants(*graph);
  ASSERT_TRUE(folded.ok()) << folded.status().message();
  EXPECT_EQ(folded->operator_count(), 0U);

  const ir::InterpretOptions as_run{.precision = ir::Precision::kF32};
  const auto run = ir::interpret(*graph, {}, as_run);
  const auto after = ir::interpret(*folded, {}, as_run);
  ASSERT_TRUE(run.ok() && after.ok());
  EXPECT_EQ(run->at(0).f64_at(0), -127);
  EXPECT_EQ(after->at(0).f64_at(0), -127);
  EXPECT_EQ(after->at(1).f64_at(0), -127.5);  // nothing is decided here: rounded once
}

}  // namespace
}  // namespace egret::rules
