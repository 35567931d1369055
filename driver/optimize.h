// SPDX-License-Identifier: Apache-2.0
// The main job: a graph in, an equal and faster graph out, checked. driver/pipeline.cc reads as the
// architecture of the whole system.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/timing/measure.h"
#include "base/options/option_table.h"
#include "base/progress.h"
#include "base/status.h"
#include "cost/database.h"
#include "driver/measure/calibration.h"
#include "driver/measure/output_check.h"
#include "driver/select/kernel_costs.h"
#include "ir/graph/graph.h"

namespace egret::driver {

struct OptimizeOptions {
  std::string rules = "default";
  std::string extractor = "auto";
  std::string cost = "profiled";
  std::string cost_db;       // empty: cost::default_database_path()
  std::string cost_machine;  // of interpolated costs, see machine_called(); empty: this one
  std::string backend = "cpu";
  std::string precision = "f32";  // of plans that are measured and checked (backends/precision.h)
  std::int64_t threads = 0;  // of backend and search, 0: all; a common option, so not in the table
  std::int64_t seed = 1;
  std::int64_t limit_nodes = 20'000;
  std::int64_t limit_iterations = 12;
  double limit_time = 20;                             // of saturation, or of a search
  std::int64_t limit_memory = std::int64_t{4} << 30;  // of the e-graph, or of a search
  std::int64_t limit_arena = 0;                       // of the result's activations; 0: none
  std::int64_t multi_iterations = 3;
  double extract_time = 2;     // each time the extractor runs
  double search_alpha = 1.05;  // of searches over whole graphs (driver/search/graph_search.h)
  std::int64_t search_budget = 1000;
  double profile_time = 20;
  double measure_time = 1;
  std::int64_t check_samples = 1;
  std::int64_t alternatives = 0;
  double alternative_spread = 1.1;
  double alternative_kept = 0;
  std::vector<std::string> forbid;  // operators that the result must not have
  bool no_check = false;
  bool no_measure = false;
  bool allow_slower = false;
  std::string allow = "proven";  // the least that must be known of every rule

  static const base::OptionTable<OptimizeOptions>& table();
};

struct OptimizeReport {
  std::string status;  // "improved", "unchanged" (the original is the fastest)
  std::string stop_reason;
  bool limit_hit = false;  // saturation or a search ran into its limit of nodes, memory or time

  // What was raced against the original, and which won.
  struct CandidateTime {
    std::string name;  // "cheapest", "cautious", "tidied", "alternative 1", "fitting"
    int operators = 0;
    double predicted_s = 0;
    KernelPrediction kernels;  // with alternatives and profiled costs
    backends::Timing measured;
  };
  std::vector<CandidateTime> candidates;
  std::string chosen;  // a candidate's name, or "original"

  std::map<std::string, int> operators_before;  // ONNX nodes by type
  std::map<std::string, int> operators_after;
  double predicted_before_s = 0;
  double predicted_after_s = 0;
  KernelPrediction kernels_before;
  backends::Timing measured_before;
  backends::Timing measured_after;
  bool measured = false;
  // Activations and scratch space of the backend's plan (backends::PlanReport::arena_bytes).
  std::int64_t arena_before = 0;
  std::int64_t arena_after = 0;

  struct RuleCount {
    std::string name;
    // Nodes of the result that the rule made; of a search, applications on the way to it.
    std::uint64_t count = 0;
    std::string status;  // "tested", "proven"
  };
  std::vector<RuleCount> rules_used;
  std::size_t rules_available = 0;
  std::string rules_allowed;                  // OptimizeOptions::allow
  std::vector<std::string> rules_not_proven;  // of those available
  std::string rule_set_hash;

  std::uint64_t e_nodes = 0;
  std::uint64_t e_classes = 0;
  std::size_t iterations = 0;
  std::uint64_t graphs_rewritten = 0;  // by a search over whole graphs
  std::uint64_t graphs_seen = 0;
  // Of saturation alone; the phase "saturate" also builds the e-graph and compiles the rules.
  double search_s = 0;
  double apply_s = 0;
  double rebuild_s = 0;

  std::string extractor;
  double extraction_cost_s = 0;
  double extraction_bound_s = 0;
  std::string extraction_status;              // "optimal", "feasible"
  std::vector<std::string> extraction_notes;  // extract::Solution::notes; doubt_about_costs()
  std::string cost_model;
  std::int64_t operators_measured = 0;   // for the cost model, in this run
  std::int64_t operators_estimated = 0;  // chosen on an estimate alone
  // Operators of the result whose share of predicted_after_s was not measured: read off measured
  // ones of other shapes, or off rates alone.
  std::int64_t predicted_interpolated = 0;
  std::int64_t predicted_estimated = 0;
  KnownRates rates;           // of estimates
  std::string costs_warning;  // the database is of other machines

  CheckReport check;
  bool checked = false;

  double seconds = 0;
  std::vector<std::pair<std::string, double>> seconds_by_phase;
  std::map<std::string, std::string> manifest;  // what the result depends on; goes into the file
};

// The sum of operators_before or operators_after.
int operator_count(const std::map<std::string, int>& by_type);

struct OptimizeResult {
  ir::Graph graph;
  OptimizeReport report;
};

// All types of the graph are concrete (ir::bind_symbols).
// Errors: usage for names that do not exist; mismatch when the optimized graph fails its check (it
// is then not returned); unsupported when no graph was found that keeps to limit_arena and has
// nothing that is forbidden; what importing rules or the database report. A limit is no error.
base::Result<OptimizeResult> optimize(const ir::Graph& graph, const OptimizeOptions& options,
                                      base::ProgressSink* progress = nullptr);

}  // namespace egret::driver
