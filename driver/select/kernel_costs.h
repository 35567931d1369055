// SPDX-License-Identifier: Apache-2.0
// The time of a graph from the kernels of its plan.
//
// A sum over operators, which extraction minimizes, cannot see what a backend makes of them
// together: which kernel takes which operators along, in which layouts, and what has to be
// reordered between. The plan tells. Its kernels are added up, each known by its signature
// (backends::PlanReport), and kept in the database of costs.
//
// Plans are learned from together. Those that hold a kernel nobody knows are run, and a kernel
// counts with the median of what it took in each of them: where its data lie and what ran before it
// differ from plan to plan, by about as much as graphs that are nearly as good as each other do.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <unordered_map>

#include "backends/backend.h"
#include "backends/timing/measure.h"
#include "base/status.h"
#include "cost/database.h"

namespace egret::driver {

struct KernelPrediction {
  double seconds = 0;
  double known_s = 0;  // of these, by kernels that were timed in another plan, now or before
};

class KernelCosts {
 public:
  // `database` outlives this.
  // `disturbed`: whether other processes disturb what is measured, asked before and after it.
  // `threads`: of the plans, which also sweep the caches: one that waited for the sweep would
  // sleep.
  KernelCosts(
      cost::Database& database, std::string machine,
      std::function<bool()> disturbed = [] { return false; }, int threads = 1)
      : database_(database),
        machine_(std::move(machine)),
        disturbed_(std::move(disturbed)),
        threads_(threads) {}

  // The plans were compiled with CompileOptions::profile. Those that are run take a fifth of a
  // second or so each. Errors: what a plan or the database reports; unsupported where the backend
  // has no signatures.
  base::Status learn(std::span<backends::ExecutablePlan* const> plans);
  // One of the plans that were learned from.
  KernelPrediction predict(const backends::ExecutablePlan& plan) const;

 private:
  struct Kernel {
    double seconds = 0;
    bool elsewhere = false;  // timed in more than one plan, or before
  };
  using Timings = std::unordered_map<std::string, std::vector<backends::Timing>>;  // one a plan

  base::Result<bool> known(const std::string& key);
  base::Status time_kernels(backends::ExecutablePlan& plan, Timings& timings) const;
  base::Status keep(const Timings& timings);

  cost::Database& database_;
  std::string machine_;
  std::function<bool()> disturbed_;
  int threads_;
  std::unordered_map<std::string, Kernel> kernels_;  // by key
};

}  // namespace egret::driver
