// SPDX-License-Identifier: Apache-2.0
#include "driver/report/graph_difference.h"

#include <gtest/gtest.h>

#include "driver/report/graph_picture.h"
#include "driver/report/graph_section.h"
#include "driver/select/rule_marks.h"
#include "ir/graph/builder.h"

namespace egret::driver {
namespace {

using State = GraphDifference::State;

// The type of all values.
const ir::TensorType kType{ir::DType::kF32, {4, 4}};

ir::Graph finished(ir::GraphBuilder& b) { return b.finish().value(); }

// x -> op... -> y, each value named v0, v1, ...
ir::Graph chain(const std::vector<std::string>& ops, const std::vector<std::string>& names) {
  ir::GraphBuilder b;
  ir::Value x = b.input("x", kType);
  for (const std::string& op : ops) x = b.add(op, {x});
  b.output("y", x);
  ir::Graph graph = finished(b);
  for (std::size_t i = 0; i < names.size(); ++i) graph.rename(ir::NodeId(i + 1), names[i]);
  return graph;
}

std::vector<State> operators(const std::vector<State>& states) {
  return {states.begin() + 1, states.end()};
}

TEST(GraphDifference, EqualGraphsHaveNone) {
  const ir::Graph a = chain({"relu", "neg"}, {"v0", "v1"});
  EXPECT_TRUE(difference_of(a, a).regions.empty());
  const ir::Graph unnamed = chain({"relu", "neg"}, {});
  EXPECT_TRUE(difference_of(a, unnamed).regions.empty()) << "structure is enough";
}

// relu(relu(x)) named a, b becomes relu(x) named b: the reader of b stays.
TEST(GraphDifference, ReadersOfAKeptValueStay) {
  const ir::Graph before = chain({"relu", "relu", "neg"}, {"a", "b", "c"});
  const ir::Graph after = chain({"relu", "neg"}, {"b", "c"});
  const GraphDifference found = difference_of(before, after);
  EXPECT_EQ(operators(found.before),
            (std::vector<State>{State::kChanged, State::kRewired, State::kSame}));
  EXPECT_EQ(operators(found.after), (std::vector<State>{State::kRewired, State::kSame}));
  ASSERT_EQ(found.regions.size(), 1U);
  EXPECT_EQ(found.regions[0].before, (std::vector<ir::NodeId>{ir::NodeId(1), ir::NodeId(2)}));
  EXPECT_EQ(found.regions[0].after, (std::vector<ir::NodeId>{ir::NodeId(1)}));
}

TEST(GraphDifference, PlacesApartAreRegionsOfTheirOwn) {
  const ir::Graph before = chain({"neg", "sigmoid", "neg", "tanh"}, {"a", "b", "c", "d"});
  const ir::Graph after = chain({"relu", "sigmoid", "relu", "tanh"}, {"a", "b", "c", "d"});
  const GraphDifference found = difference_of(before, after);
  ASSERT_EQ(found.regions.size(), 2U);
  EXPECT_EQ(found.regions[0].before, (std::vector<ir::NodeId>{ir::NodeId(1)}));
  EXPECT_EQ(found.regions[1].after, (std::vector<ir::NodeId>{ir::NodeId(3)}));
}

// Blocks that feed each other by a value of both graphs are regions of their own.
TEST(GraphDifference, ValuesOfBothGraphsAreBorders) {
  const ir::Graph before =
      chain({"neg", "neg", "tanh", "neg", "neg", "tanh"}, {"a0", "b0", "c0", "a1", "b1", "c1"});
  const ir::Graph after = chain({"relu", "relu"}, {"c0", "c1"});
  const GraphDifference found = difference_of(before, after);
  ASSERT_EQ(found.regions.size(), 2U);
  for (const auto& region : found.regions) {
    EXPECT_EQ(region.before.size(), 3U);
    EXPECT_EQ(region.after.size(), 1U);
  }
}

// A weight of the same name and other values is another weight.
TEST(GraphDifference, ComparesWeightsByValue) {
  const auto scaled = [](double value) {
    ir::GraphBuilder b;
    const ir::Value w = b.constant(ir::Tensor::filled(kType, value), "w");
    b.output("y", b.add("mul", {b.input("x", kType), w}));
    return finished(b);
  };
  EXPECT_TRUE(difference_of(scaled(2), scaled(2)).regions.empty());
  EXPECT_EQ(difference_of(scaled(2), scaled(3)).regions.size(), 1U);
}

TEST(RuleMarks, AreCarriedPastFoldedWeights) {
  const auto graph = [](bool folded) {
    ir::GraphBuilder b;
    const ir::Value x = b.input("x", kType);
    const ir::Value w = b.constant(ir::Tensor::filled(kType, 2), "w");
    const ir::Value m = folded ? b.constant(ir::Tensor::filled(kType, -2), "m") : b.add("neg", {w});
    b.output("y", b.add("relu", {b.add("mul", {x, m})}));
    return finished(b);
  };
  const ir::Graph from = graph(false);
  const ir::Graph to = graph(true);
  RuleMarks marks;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from.node(ir::NodeId(i)).kind == ir::NodeKind::kOperator)
      marks[ir::NodeId(i)] = "rule-of-" + from.node(ir::NodeId(i)).op->name();
  }
  const RuleMarks carried = carried_over(marks, from, to);
  ASSERT_EQ(carried.size(), 2U);
  for (const auto& [node, rule] : carried) EXPECT_EQ(rule, "rule-of-" + to.node(node).op->name());
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
  return found;
}

TEST(GraphSection, DrawsEqualChangesOnce) {
  std::vector<std::string> old_ops, new_ops, names;
  for (int i = 0; i < 300; ++i) {
    old_ops.insert(old_ops.end(), {"neg", "sigmoid"});
    new_ops.insert(new_ops.end(), {"relu", "sigmoid"});
    names.insert(names.end(), {"a" + std::to_string(i), "b" + std::to_string(i)});
  }
  const ir::Graph before = chain(old_ops, names);
  const ir::Graph after = chain(new_ops, names);
  const std::string text = graph_section(before, after, {{ir::NodeId(1), "r<1>"}}).str();
  // The one whose rule is known, and the first and the last of the others, which have other
  // surroundings but the same change.
  EXPECT_EQ(count(text, "<article"), 2U);
  EXPECT_NE(text.find("300 places changed. 300 operators stayed"), std::string::npos);
  EXPECT_NE(text.find("r&lt;1&gt;"), std::string::npos);
  EXPECT_LT(text.size(), 100'000U);
}

// 3,000 operators in one region: the drawing is bounded, and says so.
TEST(GraphSection, ALargeRegionIsDrawnInPart) {
  const ir::Graph before = chain(std::vector<std::string>(3000, "neg"), {});
  const ir::Graph after = chain(std::vector<std::string>(3000, "relu"), {});
  const std::string text = graph_section(before, after, {}).str();
  EXPECT_NE(text.find("3,000 operators, the first 40 drawn"), std::string::npos);
  EXPECT_LT(text.size(), 200'000U);
}

TEST(GraphSection, SaysThatNothingChanged) {
  const ir::Graph graph = chain({"relu"}, {"a"});
  const std::string text = graph_section(graph, graph, {}).str();
  EXPECT_NE(text.find("The result is the original graph."), std::string::npos);
  EXPECT_EQ(count(text, "<article"), 0U);
}

TEST(GraphPicture, IsAFileWithALegend) {
  std::size_t hidden = 0;
  const Picture picture = picture_of_graph(chain({"relu", "neg"}, {"<a>", "b"}), 1, false, hidden);
  EXPECT_EQ(hidden, 1U);
  const std::string text = draw_file(picture, "1 operator not shown");
  EXPECT_EQ(text.find("<svg "), 0U);
  EXPECT_NE(text.find("xmlns"), std::string::npos);
  EXPECT_NE(text.find("an operator that stays"), std::string::npos);
  EXPECT_NE(text.find("1 operator not shown"), std::string::npos);
  EXPECT_EQ(text.find("an operator that is gone"), std::string::npos);
}

}  // namespace
}  // namespace egret::driver
