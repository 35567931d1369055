// SPDX-License-Identifier: Apache-2.0
// The main job: a graph in, an equal and faster graph out, checked. driver/pipeline.cc reads as the
// architecture of the whole system.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/options/option_table.h"
#include "base/progress.h"
#include "base/status.h"
#include "cost/database.h"
#include "cost/model.h"
#include "driver/models/read_model.h"
#include "driver/optimize_report.h"
#include "driver/select/rule_marks.h"
#include "extract/core/extractor.h"
#include "frontends/onnx.h"
#include "ir/evaluate/given_inputs.h"
#include "ir/graph/graph.h"
#include "rules/tensors/admitted_rules.h"
#include "rules/tensors/open_sizes.h"
#include "rules/tensors/saturate.h"

namespace egret::driver {

struct OptimizeOptions {
  std::string rules = "default";
  std::string extractor = "auto";
  std::string cost = "profiled";
  std::string cost_db;       // empty: cost::default_database_path()
  std::string cost_machine;  // of interpolated costs, see machine_called(); empty: this one
  std::string backend = "cpu";
  std::string engine;                     // where candidates are raced and checked; empty: backend
  std::string engine_python = "python3";  // EngineOptions::python
  std::string oracle = "auto";            // an engine, "none", or "auto" (driver/oracle.h)
  // Who divides the result into kernels: "backend", "graph" or "egraph".
  std::string kernels_from = "backend";
  std::string layouts = "backend";  // who chooses those between kernels: "backend" or "egraph"
  std::string precision = "f32";    // of plans that are measured and checked (backends/precision.h)
  double error_budget = 0;          // relative, of the outputs; 0: none is allowed
  std::string forms_from = "extraction";  // FormsFrom
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
  bool quick = false;
  bool no_check = false;
  bool no_measure = false;
  bool allow_slower = false;
  std::string allow = "proven";  // the least that must be known of every rule
  std::string fp = "rounding";   // for who reads the model: keeps_rounding()
  // Inputs that races and checks do not draw; no option of the table. Their types are those of the
  // program at the first profile.
  ir::GivenInputs given_inputs;
  // Samples of inputs for the error budget, each with the same inputs; no option of the table.
  // Empty: they are drawn.
  std::vector<ir::GivenInputs> samples{};
  // Names, opsets and the like of the model, with which the engine's files are written as the
  // result will be; no option of the table.
  std::shared_ptr<const frontends::OnnxModelInfo> written_like{};
  // What the graph was read from, if nothing was fixed in it (--bind). An engine runs it as the
  // original; no option of the table.
  std::shared_ptr<const ModelSource> model_file{};
  // Keeps what a certificate is made of (driver/certificate.h); no option of the table.
  bool explain = false;
  // Given by a program in place of what `rules`, `extractor` and `cost` name; those are then names
  // in the report. No options of the table.
  std::shared_ptr<const rules::AdmittedRules> own_rules{};
  extract::Extract own_extractor{};
  std::function<std::unique_ptr<cost::Model>()> own_cost{};
  rules::MakeScheduler own_scheduler{};  // of saturation

  static const base::OptionTable<OptimizeOptions>& table();
  // frontends::ImportOptions::keeps_rounding.
  bool keeps_rounding() const { return fp == "rounding"; }
};

// Whether kernels or their layouts are chosen, and not left to the backend.
inline bool chooses_kernels(const OptimizeOptions& options) {
  return options.kernels_from != "backend" || options.layouts != "backend";
}
// The option that says so, where one does.
inline std::string option_of_kernels(const OptimizeOptions& options) {
  return options.kernels_from != "backend" ? "--kernels-from " + options.kernels_from
                                           : "--layouts " + options.layouts;
}

// What --quick sets: nothing is measured, costs are estimated, and limits that have their defaults
// become short.
OptimizeOptions quick(OptimizeOptions options);

struct Explained;  // driver/certificate.h

struct OptimizeResult {
  ir::Graph graph;
  OptimizeReport report;
  RuleMarks made_by{};                           // of graph
  std::shared_ptr<const Explained> explained{};  // with OptimizeOptions::explain
};

// All types of the graph are concrete (ir::bind_symbols), or open sizes are those of `open`, whose
// examples are what is priced and measured; the result then keeps them open.
// Errors: usage for names that do not exist; mismatch when the optimized graph fails its check (it
// is then not returned); unsupported when no graph was found that keeps to limit_arena and has
// nothing that is forbidden; what importing rules or the database report. A limit is no error.
base::Result<OptimizeResult> optimize(const ir::Graph& graph, const OptimizeOptions& options,
                                      base::ProgressSink* progress = nullptr,
                                      rules::OpenSizes* open = nullptr);

}  // namespace egret::driver
