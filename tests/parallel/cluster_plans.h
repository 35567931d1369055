// SPDX-License-Identifier: Apache-2.0
// Machines, models and plans of tests of the cluster planner.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "parallel/cluster_plan/cluster_planner.h"
#include "parallel/cluster_plan/plan_frame.h"

namespace egret::parallel {

inline System machine(const std::string& name, double memory_bytes = 0) {
  System system = system_called(name).value();
  if (memory_bytes > 0) {
    system.accelerator.memory_bytes = memory_bytes;
    for (AcceleratorPool& pool : system.pools) pool.accelerator.memory_bytes = memory_bytes;
  }
  return system;
}

inline TrainingSetup model(std::int64_t layers, std::int64_t hidden, std::int64_t batch) {
  TrainingSetup setup;
  setup.layers = layers;
  setup.hidden = hidden;
  setup.heads = 4;
  setup.sequence = 1024;
  setup.vocabulary = 16384;
  setup.global_batch = batch;
  return setup;
}

inline ClusterPlan planned(const System& system, const TrainingSetup& setup, std::int64_t devices,
                           const FixedChoices& fixed = {}, bool explain = false) {
  ClusterPlanOptions options;
  options.devices = devices;
  options.limit_simulations = 100'000;
  auto plan = plan_cluster({system, setup, {}, fixed}, options, explain);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return plan.ok() ? *std::move(plan) : ClusterPlan{};
}

inline std::vector<PlanFrame> all_frames(const TrainingSetup& setup, std::int64_t devices,
                                         const FixedChoices& fixed = {}) {
  std::vector<PlanFrame> frames;
  FrameSpace{setup, devices, fixed}.visit([](const PlanFrame&) { return true; },
                                          [&](const PlanFrame& f) { frames.push_back(f); });
  return frames;
}

}  // namespace egret::parallel
