// SPDX-License-Identifier: Apache-2.0
// The planner: saturate the program with rules, distribute all programs found in all ways
// (parallel/placed/placed_egraph.h), price every operator on parts and every collective
// (parallel/plan/pricing.h), and extract the cheapest program. Shared values are paid once.
//
// Computation and communication overlap only with `overlap`, in a simulation. Inputs and outputs
// are whole on every rank unless requested otherwise. Weights are in blocks or whole as the plan
// chooses; placing them is free before the first run. In a training step, parameters and optimizer
// state are inputs whose next values are outputs: each has one placement, which the plan chooses,
// for both.
//
// Where the cheapest plan exceeds a device's memory, the integer program gets rows for the memory
// (parallel/plan/pricing.h). Parameters may then be re-gathered (parallel/plan/regather.h),
// and a gather may be replaced by a ring (parallel/ring/ring.h). The rows know levels, not the
// order of operators; where the program still exceeds the limit, they are tightened. The bound
// remains that of the problem without the limit.
//
// Besides, values are computed again (parallel/plan/recomputed_program.h): in the cheapest plan, in
// those of the rows, in baselines, and in plans of which only what is held all the time is limited.
// The cheapest plan that fits is taken.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/options/option_table.h"
#include "base/progress.h"
#include "base/status.h"
#include "ir/graph/graph.h"
#include "parallel/machine/cluster.h"
#include "parallel/placed/placed_graph.h"
#include "parallel/plan/communication.h"
#include "parallel/plan/plan_check.h"
#include "parallel/plan/plan_searches.h"
#include "parallel/plan/pricing.h"
#include "parallel/plan/recomputed_program.h"

namespace egret::parallel {

inline constexpr std::string_view kOwnSearch = "egret";  // beside plan_searches()

struct ParallelPlanOptions {
  std::string rules = "expand-composites";
  std::string allow = "proven";  // the minimal status of every rule
  std::string extractor = "auto";
  std::string strategy = "any";
  std::string search = "egret";       // that makes the plan: extraction, or one of plan_searches()
  std::int64_t limit_nodes = 20'000;  // of saturation
  double extract_time = 60;           // of each extraction
  bool sharded_inputs = false;        // inputs may also arrive in blocks
  std::int64_t device_memory = 0;     // bytes of one device; 0: the machine's, if given
  std::int64_t layers = 2;            // equal layers to plan, which stand for all; 0: plan all
  bool sequential = false;            // rewrite for one device first, then distribute
  bool searches = false;              // plan all layers, and run the other searches too
  bool explain = false;               // find the runner-up of each choice
  bool overlap = false;               // exchanges run beside computation
  bool baselines = true;              // also plan the named strategies; no option of the table
  // With overlap: the program as it runs, and its simulated seconds. No option of the table.
  std::function<base::Result<double>(PlacedGraph& program, bool reorder)> simulate{};
  double limit_check = 60;              // seconds of the comparison with the program; 0: none
  std::string recompute_by = "search";  // beside "none", one of extract::recompute_methods()
  double recompute_time = 10;           // of each search for an order
  std::int64_t storage_rate = 0;        // bytes a second of copies out and back; 0: none

  static const base::OptionTable<ParallelPlanOptions>& table();
};

// The task. All types of the graph are concrete.
struct PlanTask {
  const ir::Graph& graph;
  std::vector<Carried> carried{};
  std::vector<ir::Tensor> inputs{};  // on which the plan is checked; empty: random ones
  std::set<std::string> free{};      // outputs that may stay in blocks
};

// The reason for the placement of an input or weight: the best plan with another placement.
struct RunnerUp {
  std::string name;
  std::string placement;
  std::string other{};     // "" where there is no other plan, or none that was found in time
  double time_s = 0;       // of that plan
  double computing_s = 0;  // more than the plan takes, or less
  double sending_s = 0;
};

// What a baseline needs that its time does not tell.
struct BaselineFacts {
  double memory_bytes = 0;      // of a device
  bool divided_inputs = false;  // it reads inputs in blocks, where the plan gets whole ones
};

struct ParallelPlan {
  PlacedGraph program;
  double time_s = 0;
  // Lower bound: no plan over this e-graph and of this strategy takes less. With tied layers, no
  // plan whose tied layers are equal (parallel/plan/tied_layers.h).
  double bound_s = 0;
  std::int64_t layers = 0;  // that are equal and planned as few; 0: all was planned
  double memory_bytes = 0;
  double limit_bytes = 0;  // what was asked for; 0: nothing. A plan above it found none below.
  std::optional<PlanRecomputation> recomputation{};  // of a program that computes values again
  std::vector<Communication> communication;
  // The times of plans of known kinds for the same program (parallel/plan/strategies.h); those that
  // do not exist are left out.
  std::map<std::string, double> baselines;
  std::map<std::string, BaselineFacts> baseline_facts;
  // The results of the other searches at the same costs, the planner's own first, if requested; not
  // for training steps.
  std::vector<FoundPlan> searches;
  std::vector<RunnerUp> runners_up;  // of the largest, where that was asked for
  std::size_t placed_values = 0;     // classes of the placed e-graph
  std::size_t placed_nodes = 0;
  double seconds = 0;   // spent planning, and
  double checking = 0;  // of them, comparing the plan with the program
  PlanCheck check = PlanCheck::kSkipped;
  bool interrupted = false;  // the search ended early, on base::stop_requested()
  bool overlaps = false;     // times are simulated, with exchanges beside computation
  double sequential_s = 0;   // then: the time if nothing overlapped
};

// The plan, checked on all ranks against the sequential program (parallel/placed/placed_graph.h)
// for as long as the options allow. FOUND gets it before the check. On base::stop_requested() the
// best plan so far is returned. Errors: usage_error for a name that does not exist; bad_input where
// no plan is of the strategy; mismatch where the check fails; limit, where there is no plan yet;
// those of extraction.
base::Result<ParallelPlan> make_plan(const PlanTask& task, const Cluster& machine,
                                     const ParallelPlanOptions& options,
                                     base::ProgressSink* progress = nullptr,
                                     const std::function<void(const ParallelPlan&)>& found = {});

}  // namespace egret::parallel
