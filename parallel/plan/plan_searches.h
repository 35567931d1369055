// SPDX-License-Identifier: Apache-2.0
// Search methods from the literature, over the same placed e-graph and costs, for comparison:
//
//   exhaustive   every choice for every operator, by branch and bound; gives up above a limit
//   chain        dynamic programming as if each use of a value paid for it: the best of a chain
//                (Jia, Lin, Qi, Aiken, "Exploring Hidden Dimensions in Parallelizing Convolutional
//                Neural Networks", ICML 2018)
//   mcmc         a random walk that changes one operator at a time (Jia, Zaharia, Aiken, "Beyond
//                Data and Model Parallelism for Deep Neural Networks", MLSys 2019, section 6)
//   best-first   the cheapest plan known is changed in one operator in every way, and so on with
//                what is at most a twentieth worse than the best (Unger et al., "Unity", OSDI 2022,
//                section 6, without its cut into subgraphs)
//
// All start from the plan that computes everything on every device.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "parallel/plan/plan_space.h"

namespace egret::parallel {

struct FoundPlan {
  std::string_view search;
  double time_s = 0;       // of the plan
  std::int64_t plans = 0;  // plans examined; steps of the exhaustive search
  double seconds = 0;      // spent
  bool finished = true;    // within the limits
  // Of the plan: the node of each class of the view, PlanSpace::kNone where none is needed. Empty
  // where no plan was found.
  std::vector<PlanSpace::Index> nodes{};
};

struct SearchLimits {
  std::int64_t plans = 100'000;     // for each of the last two
  std::int64_t steps = 20'000'000;  // of the exhaustive search
  double seconds = 60;              // for each; base::stop_requested() ends it earlier
  std::uint64_t seed = 1;
};

struct PlanSearchRow {
  std::string_view name;
  FoundPlan (*run)(const PlanSpace& space, const egraph::EGraphView& view,
                   std::span<const double> costs, const SearchLimits& limits);
};

std::span<const PlanSearchRow> plan_searches();

// Runs all searches on the view of the space.
std::vector<FoundPlan> run_plan_searches(const PlanSpace& space, const egraph::EGraphView& view,
                                         std::span<const double> costs,
                                         const SearchLimits& limits = {});

}  // namespace egret::parallel
