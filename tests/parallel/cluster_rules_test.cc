// SPDX-License-Identifier: Apache-2.0
// Plans of transformers by the rules of experts and other planners.
#include <gmock/gmock.h>

#include "parallel/cluster_plan/cluster_planner.h"

namespace egret::parallel {
namespace {

using ::testing::HasSubstr;

TrainingSetup transformer() {
  TrainingSetup setup;
  setup.layers = 8;
  setup.hidden = 1024;
  setup.heads = 4;
  setup.sequence = 1024;
  setup.vocabulary = 16384;
  setup.global_batch = 32;
  return setup;
}

// The plan of a rule is that of the rule among the baselines, and its stages are the plan's.
TEST(ClusterRules, MakeThePlanOnRequest) {
  const System system = system_called("dgx-h100").value();
  const TrainingSetup dense = transformer();
  TrainingSetup mixture = dense;
  mixture.experts = 4;
  for (const auto& [setup, rules] : {std::pair(dense, 7U), std::pair(mixture, 9U)}) {
    ClusterPlanOptions options;
    options.devices = 8;
    const auto all = plan_cluster({system, setup, {}, {}}, options);
    ASSERT_TRUE(all.ok()) << all.status().message();
    ASSERT_EQ(all->baselines.size(), rules);
    for (const PlannedBaseline& baseline : all->baselines) {
      options.rule = baseline.name;
      const auto plan = plan_cluster({system, setup, {}, {}}, options);
      ASSERT_EQ(plan.ok(), baseline.exists) << baseline.name << plan.status().message();
      if (!plan.ok()) continue;
      EXPECT_EQ(plan->best.frame, baseline.step.frame) << baseline.name;
      EXPECT_EQ(plan->best.seconds, baseline.step.seconds) << baseline.name;
      EXPECT_EQ(plan->best.chunks, baseline.step.chunks) << baseline.name;
      EXPECT_EQ(plan->stop_reason, "rule");
      EXPECT_LE(plan->bound_s, plan->best.seconds) << baseline.name;
    }
  }
  ClusterPlanOptions options;
  options.devices = 8;
  options.rule = "gshard";
  const auto none = plan_cluster({system, dense, {}, {}}, options);
  EXPECT_THAT(none.status().message(), HasSubstr("--rule gshard has no plan"));
  options.rule = "gpipe";
  EXPECT_EQ(plan_cluster({system, dense, {}, {}}, options).status().message(),
            "unknown rule 'gpipe'");
}

}  // namespace
}  // namespace egret::parallel
