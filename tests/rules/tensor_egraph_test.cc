// SPDX-License-Identifier: Apache-2.0
#include "rules/tensors/tensor_egraph.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "egraph/proofs/explainer.h"
#include "ir/graph/builder.h"
#include "rules/tensors/compile.h"
#include "rules/tensors/rule_set.h"
#include "rules/tensors/saturate.h"

namespace egret::rules {
namespace {

using egraph::Pattern;
using egraph::VarId;
using ir::DType;
using ir::GraphBuilder;
using ir::TensorType;
using ir::Value;

ir::Graph relu_of_relu() {
  GraphBuilder b;
  const Value x = b.input("x", {DType::kF32, {2, 3}});
  const Value w = b.constant(ir::Tensor::filled({DType::kF32, {3, 4}}, 0.5), "w");
  const Value y = b.add("matmul", {x, w});
  b.set_name(y, "product");
  b.output("out", b.add("relu", {b.add("relu", {y})}));
  auto graph = b.finish();
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return *graph;
}

TEST(TensorEGraph, GivesBackTheProgramItWasMadeFrom) {
  const ir::Graph graph = relu_of_relu();
  auto tensors = TensorEGraph::from_graph(graph);
  ASSERT_TRUE(tensors.ok()) << tensors.status().message();
  const auto back = (*tensors)->to_graph((*tensors)->original());
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_TRUE(back->check_invariants().ok());
  EXPECT_EQ(back->operator_count(), 3U);
  EXPECT_EQ(back->inputs().size(), 1U);
  EXPECT_EQ(back->outputs()[0].name, "out");
  int named = 0;
  for (const ir::Node& node : back->nodes())
    named += node.name == "product" || node.name == "w" || node.name == "x" ? 1 : 0;
  EXPECT_EQ(named, 3);
}

// Where the program's node of a class is hidden, the next oldest may need the class itself.
TEST(TensorEGraph, GivesBackAProgramOfWhichANodeIsHidden) {
  GraphBuilder b;
  const ir::Attrs turned{{"perm", ir::Integers{1, 0}}};
  const Value x = b.input("x", {DType::kF32, {2, 3}});
  b.output("y", b.add("relu", {b.add("transpose", {x}, turned)}));
  auto tensors = TensorEGraph::from_graph(*b.finish());
  ASSERT_TRUE(tensors.ok()) << tensors.status().message();
  TensorEGraph& t = **tensors;
  const egraph::ClassId y = t.roots()[0];
  const egraph::NodeId relu_of_turned = t.egraph().nodes(y)[0];
  const auto add = [&](const char* op, const ir::Attrs& attrs, egraph::ClassId of) {
    return *t.add(ir::get_operator(op), attrs, std::vector{of});
  };
  const egraph::ClassId twice = add("transpose", turned, add("transpose", turned, y));
  const egraph::ClassId input = t.value(ir::NodeId(0));
  const egraph::ClassId relu_first = add("transpose", turned, add("relu", {}, input));
  ASSERT_TRUE(t.egraph().merge(y, twice, "test").ok());
  ASSERT_TRUE(t.egraph().merge(y, relu_first, "test").ok());
  ASSERT_TRUE(t.egraph().rebuild().ok());
  EXPECT_EQ(t.to_graph(t.original())->outputs()[0].name, "y");
  t.egraph().hide(relu_of_turned);
  ASSERT_TRUE(t.egraph().rebuild().ok());
  const auto back = t.to_graph(t.original());
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back->operator_count(), 2U);
  EXPECT_EQ(back->node(back->outputs()[0].node).op->name(), "transpose");
}

TEST(TensorEGraph, KnowsTypesConstnessAndSplats) {
  auto tensors = TensorEGraph::from_graph(relu_of_relu());
  ASSERT_TRUE(tensors.ok());
  TensorEGraph& t = **tensors;
  const auto w = t.add_constant(ir::Tensor::filled({DType::kF32, {3, 4}}, 0.5));
  ASSERT_TRUE(w.ok());
  const auto moved =
      t.add(ir::get_operator("transpose"), {{"perm", ir::Integers{1, 0}}}, std::vector{*w});
  ASSERT_TRUE(moved.ok()) << moved.status().message();
  EXPECT_EQ(to_string(t.type(*moved)), "f32[4,3]");
  EXPECT_TRUE(t.is_constant(*moved));
  EXPECT_EQ(t.facts(*moved).splat, 0.5);
  EXPECT_FALSE(t.is_constant(t.roots()[0]));
  EXPECT_FALSE(t.add(ir::get_operator("matmul"), {}, std::vector{*w, *w}).ok());
}

TEST(TensorEGraph, KnowsSignsFromDefinitionsAndElements) {
  auto tensors = TensorEGraph::from_graph(relu_of_relu());
  ASSERT_TRUE(tensors.ok());
  TensorEGraph& t = **tensors;
  const TensorType type(DType::kF32, {3, 4});
  ir::Tensor mixed = ir::Tensor::filled(type, 0.5);
  mixed.set_f64(3, 0.25);
  const auto positive = *t.add_constant(mixed);
  mixed.set_f64(7, -1);
  const auto unknown = *t.add_constant(mixed);
  const auto applied = [&](const char* op, std::vector<egraph::ClassId> operands) {
    return *t.add(ir::get_operator(op), {}, operands);
  };
  EXPECT_EQ(t.facts(positive).sign, ir::Sign::kPositive);
  EXPECT_EQ(t.facts(unknown).sign, ir::Sign::kUnknown);
  EXPECT_EQ(t.facts(t.roots()[0]).sign, ir::Sign::kNotNegative);
  EXPECT_EQ(t.facts(applied("exp", {unknown})).sign, ir::Sign::kPositive);
  EXPECT_EQ(t.facts(applied("max", {unknown, positive})).sign, ir::Sign::kUnknown);
  EXPECT_EQ(t.facts(applied("mul", {positive, positive})).sign, ir::Sign::kPositive);
  EXPECT_EQ(t.facts(applied("mul", {positive, unknown})).sign, ir::Sign::kUnknown);
}

TEST(TensorEGraph, RefusesSymbolicSizes) {
  GraphBuilder b;
  const Value x = b.input("x", {DType::kF32, ir::Dims{ir::symbolic_dim("N"), 3}});
  b.output("y", b.add("relu", {x}));
  const auto tensors = TensorEGraph::from_graph(*b.finish());
  ASSERT_FALSE(tensors.ok());
  EXPECT_NE(tensors.status().message().find("--bind"), std::string::npos);
}

TEST(Saturate, CreditsRulesWithTheNodesTheyMake) {
  auto tensors = TensorEGraph::from_graph(relu_of_relu());
  ASSERT_TRUE(tensors.ok());
  TensorEGraph& t = **tensors;
  TensorLanguage& language = t.language();
  const egraph::OpId relu = language.operation(ir::get_operator("relu"), {}, 1);
  const egraph::OpId max = language.operation(ir::get_operator("add"), {}, 2);

  Pattern p;
  const VarId x = p.var("x");
  const VarId inner = p.node(relu, {x});
  const VarId outer = p.node(relu, {inner});
  egraph::Rewrite twice("relu-of-relu", std::move(p));
  twice.equate(outer, inner);
  Pattern q;
  const VarId y = q.var("y");
  const VarId r = q.node(relu, {y});
  egraph::Rewrite doubled("double", std::move(q));
  (void)doubled.build(max, {r, r});
  const std::vector<CompiledRule> rules{{twice}, {doubled}};
  const SaturateReport report = saturate(t, rules);
  EXPECT_EQ(report.run.stop, egraph::StopReason::kSaturated);
  ASSERT_FALSE(report.applied.empty());
  EXPECT_EQ(report.applied[0].name, "relu-of-relu");

  const auto back = t.to_graph(t.original());
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back->operator_count(), 2U);
  const auto made = t.egraph().nodes_with(max);
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(t.creator(made[0]), 1U);
}

TEST(TensorEGraph, IsSaturatedNoFurtherThanAsked) {
  const auto set = select_rules("starter");
  ASSERT_TRUE(set.ok());
  for (const std::size_t wanted : {0U, 1U}) {
    auto tensors = TensorEGraph::from_graph(relu_of_relu());
    ASSERT_TRUE(tensors.ok());
    std::size_t asked = 0;
    SaturateOptions options;
    options.is_done = [&] { return asked++ == wanted; };
    const SaturateReport report = saturate(**tensors, compile(*set, **tensors), options);
    EXPECT_EQ(report.run.stop, egraph::StopReason::kHook);
    EXPECT_EQ(report.run.iterations.size(), wanted);
  }
}

// Rules of the rule language, with computed sides: whatever they made equal can be explained, and
// each step names its rule by the hash under which its status is known.
TEST(TensorEGraph, ExplainsWhatTheRulesSaid) {
  auto tensors = TensorEGraph::from_graph(relu_of_relu());
  ASSERT_TRUE(tensors.ok());
  egraph::EGraph& egraph = (*tensors)->egraph();
  egraph.enable_proofs();
  const auto set = select_rules("starter");
  ASSERT_TRUE(set.ok());
  const auto compiled = compile(*set, **tensors);
  saturate(**tensors, compiled, {});
  egraph::Explainer explainer(egraph);
  std::size_t explained = 0, named = 0;
  for (std::size_t i = 0; i < egraph.id_count(); ++i) {
    const egraph::ClassId id(i), root = egraph.find(id);
    if (id == root) continue;
    const auto why = explainer.explain(id, root);
    ASSERT_TRUE(why.ok()) << why.status().message();
    ++explained;
    for (const auto& form : why->rules) {
      const auto rule = std::ranges::find(set->rules, form->name(), &Rule::name);
      if (rule == set->rules.end()) continue;  // one in code
      ++named;
      EXPECT_EQ(form->conditions().front(), "rule(" + content_hash(*rule).to_hex() + ")");
    }
  }
  EXPECT_GT(explained, 0U);
  EXPECT_GT(named, 0U);
}

}  // namespace
}  // namespace egret::rules
