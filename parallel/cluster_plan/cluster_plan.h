// SPDX-License-Identifier: Apache-2.0
// A plan for the training of a transformer on a cluster, and what is known about it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "parallel/cluster_plan/plan_frame.h"
#include "parallel/simulator/step_simulation.h"

namespace egret::parallel {

struct PlannedStep {
  PlanFrame frame;
  std::vector<ChunkLayers> chunks;
  double bound_s = 0;  // of all divisions of layers in this frame
  // Simulated:
  double seconds = 0;
  double mfu = 0;  // of all devices of the task, idle ones too
  SecondsByUse uses{};
  std::vector<double> peak_bytes;    // by pipeline rank
  std::vector<double> excess_bytes;  // over the memory of its devices, with what these reserve
  double host_bytes = 0;             // of the host, for the device with the most
  double host_excess_bytes = 0;      // over the part of the host's memory; 0 where it fits
  bool fits() const;
  double most_bytes() const;  // of the fullest rank
};

struct PlannedBaseline {
  std::string name;
  std::string method;
  PlannedStep step{};  // the one with the least memory, where none fits
  bool exists = false;
};

// The best plan with another value of one choice.
struct ChoiceRunnerUp {
  std::string choice, value, other;
  PlannedStep step;
};

struct SearchCounts {
  std::int64_t frames = 0;      // below the bound
  std::int64_t partitions = 0;  // dynamic programs
  std::int64_t simulations = 0;
  std::int64_t rounds = 0;
  std::int64_t groups = 0;  // of plans with degrees by stage, whose stages were divided
};

struct ClusterPlan {
  TrainingSetup setup;
  StepOptions options;
  PlannedStep best;    // the one with the least excess, where none fits
  double bound_s = 0;  // no plan of the space takes less in the simulation; see docs for its limits
  std::vector<PlannedStep> ranking;  // from the best, at most as many as were asked for
  std::vector<PlannedBaseline> baselines;
  std::vector<ChoiceRunnerUp> runners_up;
  SearchCounts counts;
  double seconds = 0;       // spent planning
  std::string stop_reason;  // "bound", "simulations", "time", "signal", or "rule" for a rule's plan
  // Of the best plan above the bound; 0 where the search ended before there was a bound.
  double gap() const { return bound_s > 0 ? best.seconds / bound_s - 1 : 0; }
};

}  // namespace egret::parallel
