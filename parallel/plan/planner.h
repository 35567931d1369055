// SPDX-License-Identifier: Apache-2.0
// The plan of a program on a machine: saturate the program with rules, distribute all programs that
// they find in all ways
// (parallel/placed/placed_egraph.h), price every operator on parts and every collective
// (parallel/plan/pricing.h), and extract the cheapest program, in which shared values are paid
// once.
//
// Nothing overlaps yet. Inputs and outputs are whole on every rank unless asked otherwise; weights
// are in blocks or whole as the plan wants them, which costs nothing before the first run. In a
// training step parameters and the optimizer's state are inputs whose next values are outputs: each
// has one placement, the plan's choice, for both.
//
// Where the cheapest plan takes more memory than a device has, the integer program gets rows for
// the memory (parallel/plan/pricing.h), and parameters may be gathered a second time
// (parallel/plan/second_reading.h), and what would be gathered may pass round instead
// (parallel/ring/ring.h). The rows know levels, not the order of operators; where the program still
// takes more, they are made tighter. The bound stays that without the limit.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/options/option_table.h"
#include "base/progress.h"
#include "base/status.h"
#include "ir/graph/graph.h"
#include "parallel/machine/machine.h"
#include "parallel/placed/placed_graph.h"
#include "parallel/plan/plan_searches.h"
#include "parallel/plan/pricing.h"

namespace egret::parallel {

struct PlanOptions {
  std::string rules = "expand-composites";
  std::string allow = "proven";  // the least that must be known of every rule
  std::string extractor = "auto";
  std::string strategy = "any";
  std::int64_t limit_nodes = 20'000;  // of saturation
  double extract_time = 60;           // of each extraction
  bool sharded_inputs = false;        // inputs may also arrive in blocks
  std::int64_t device_memory = 0;     // bytes of one device; 0: the machine's, if it says
  std::int64_t layers = 2;            // of equal ones, that are planned for all; 0: all are
  bool sequential = false;            // rewrite for one device first, then distribute
  bool searches = false;              // plan all layers, and look in other ways too
  bool explain = false;               // find the next best of each choice

  static const base::OptionTable<PlanOptions>& table();
};

// What to plan. All types of the graph are concrete.
struct PlanTask {
  const ir::Graph& graph;
  std::vector<Carried> carried{};
  std::vector<ir::Tensor> inputs{};  // on which the plan is checked; empty: random ones
};

// What the collectives of one kind along one axis send, each rank, all together.
struct Communication {
  std::string collective;
  std::string axis;
  double bytes = 0;
  std::int64_t count = 0;
  double time_s = 0;  // that they take
};

// Why an input or weight is where it is: the best plan that does not have it there.
struct RunnerUp {
  std::string name;
  std::string placement;
  std::string other{};     // "" where there is no other plan, or none that was found in time
  double time_s = 0;       // of that plan
  double computing_s = 0;  // more than the plan takes, or less
  double sending_s = 0;
};

struct Plan {
  PlacedGraph program;
  double time_s = 0;
  // No plan over this e-graph and of this strategy takes less; where layers are tied, none in which
  // those that one stands for are equal (parallel/plan/tied_layers.h).
  double bound_s = 0;
  std::int64_t layers = 0;  // that are equal and planned as few; 0: all was planned
  double memory_bytes = 0;
  double limit_bytes = 0;  // what was asked for; 0: nothing. A plan above it found none below.
  std::vector<Communication> communication;
  // The times of plans of known kinds for the same program (parallel/plan/strategies.h); those that
  // do not exist are left out.
  std::map<std::string, double> baselines;
  // What other ways to look for it found at the same costs, and first the planner's own, where that
  // was asked for; not of training steps.
  std::vector<FoundPlan> searches;
  std::vector<RunnerUp> runners_up;  // of the largest, where that was asked for
  std::size_t placed_values = 0;     // classes of the placed e-graph
  std::size_t placed_nodes = 0;
  double seconds = 0;   // spent planning, and
  double checking = 0;  // of them, comparing the plan with the program
};

// The plan, checked on all ranks against the sequential program (parallel/placed/placed_graph.h).
// Errors: usage_error for a name that does not exist; bad_input where no plan is of the strategy;
// mismatch where the check fails; what extraction reports.
base::Result<Plan> make_plan(const PlanTask& task, const Machine& machine,
                             const PlanOptions& options, base::ProgressSink* progress = nullptr);

// What each rank sends in a run, by collective and axis, and how long it takes over the machine's
// links.
std::vector<Communication> communication_of(const PlacedGraph& graph, const Machine& machine);

}  // namespace egret::parallel
