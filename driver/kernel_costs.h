// SPDX-License-Identifier: Apache-2.0
// The time of a graph from the kernels of its plan.
//
// A sum over operators, which extraction minimizes, cannot see what a backend makes of them
// together: which kernel takes which operators along, in which layouts, and what has to be
// reordered between. The plan tells. Its kernels are added up, each timed once, in the first plan
// that held one of its signature (backends::PlanReport), and kept in the database of costs.
#pragma once

#include <string>
#include <unordered_map>

#include "backends/backend.h"
#include "base/status.h"
#include "cost/database.h"

namespace egret::driver {

struct KernelPrediction {
  double seconds = 0;
  double known_s = 0;  // of these, by kernels that were timed before, in another plan
};

class KernelCosts {
 public:
  // `database` outlives this.
  KernelCosts(cost::Database& database, std::string machine)
      : database_(database), machine_(std::move(machine)) {}

  // The plan was compiled with PlanOptions::profile. It is run where a kernel is met for the first
  // time, for a fifth of a second or so. Errors: what the plan or the database reports; unsupported
  // where the backend has no signatures.
  base::Result<KernelPrediction> predict(backends::Plan& plan);

 private:
  base::Result<bool> known(const std::string& key);
  base::Status time_kernels(backends::Plan& plan);

  cost::Database& database_;
  std::string machine_;
  std::unordered_map<std::string, double> seconds_;  // by key
};

}  // namespace egret::driver
