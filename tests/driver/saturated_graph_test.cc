// SPDX-License-Identifier: Apache-2.0
#include "driver/select/saturated_graph.h"

#include <gtest/gtest.h>

#include "ir/graph/builder.h"
#include "rules/language/rule_parser.h"

namespace egret::driver {
namespace {

ir::Graph sum_of_relus() {
  ir::GraphBuilder b;
  const ir::Value x = b.input("x", ir::TensorType(ir::DType::kF32, {4}));
  const ir::Value y = b.input("y", ir::TensorType(ir::DType::kF32, {4}));
  b.output("z", b.add("add", {b.add("relu", {x}), b.add("relu", {y})}));
  return *b.finish();
}

rules::RuleSet set_of(const std::string& text) {
  rules::RuleSet set;
  set.rules = *rules::parse_rules("test", text);
  return set;
}

TEST(SaturatedGraph, IsTheSameWithAnyNumberOfThreads) {
  const rules::RuleSet exchange =
      set_of("rule exchange\n out = add(?a, ?b)\n => out = add(?b, ?a)\n");
  for (const std::int64_t threads : {0, 1, 2, 5}) {
    const auto saturated = saturate(sum_of_relus(), exchange, {}, threads);
    ASSERT_TRUE(saturated.ok()) << saturated.status().message();
    EXPECT_EQ(saturated->run.stop, egraph::StopReason::kSaturated);
    EXPECT_EQ(saturated->rules.size(), 1U);
    EXPECT_EQ(saturated->tensors->egraph().node_count(), 6U);  // x, y, relus, both sums
    EXPECT_EQ(saturated->tensors->egraph().class_count(), 5U);
  }
}

TEST(SaturatedGraph, KeepsWhatWasFoundUpToALimit) {
  const rules::RuleSet exchange =
      set_of("rule exchange\n out = add(?a, ?b)\n => out = add(?b, ?a)\n");
  rules::SaturateOptions options;
  options.limits.iterations = 0;
  const auto saturated = saturate(sum_of_relus(), exchange, options, 1);
  ASSERT_TRUE(saturated.ok());
  EXPECT_EQ(saturated->run.stop, egraph::StopReason::kIterationLimit);
  EXPECT_EQ(saturated->tensors->egraph().node_count(), 5U);
}

}  // namespace
}  // namespace egret::driver
