// SPDX-License-Identifier: Apache-2.0
#include "backends/option_help.h"
#include "cost/database.h"
#include "cost/model.h"
#include "driver/engine/engine.h"
#include "driver/optimize.h"
#include "driver/precision/error_budget.h"
#include "driver/search/graph_search.h"
#include "extract/core/extractor.h"
#include "extract/core/option_help.h"
#include "rules/tensors/admitted_rules.h"

namespace egret::driver {
namespace {

std::vector<std::string> extractor_names() {
  std::vector<std::string> names;
  for (const extract::ExtractorRow& row : extract::extractors()) names.emplace_back(row.name);
  for (const GraphSearchRow& row : graph_searches()) names.emplace_back(row.name);
  return names;
}

std::vector<std::string> cost_names() {
  std::vector<std::string> names = {"profiled", "interpolated"};
  for (const cost::ModelRow& row : cost::estimating_models()) names.emplace_back(row.name);
  return names;
}

}  // namespace

const base::OptionTable<OptimizeOptions>& OptimizeOptions::table() {
  using O = OptimizeOptions;
  static const base::OptionTable<O> rows{
      "optimize",
      {{"rules", &O::rules, std::string(rules::kRulesHelp)},
       {"extractor", &O::extractor, extract::kExtractorHelp, base::one_of(extractor_names())},
       {"cost", &O::cost,
        "Cost model: profiled measures operators; interpolated predicts times from the database "
        "and measures nothing; the others estimate",
        base::one_of(cost_names())},
       {"cost-db", &O::cost_db, cost::kDatabaseHelp, base::path()},
       {"cost-machine", &O::cost_machine, cost::kMachineHelp},
       {"backend", &O::backend, backends::kBackendHelp},
       {"engine", &O::engine, std::string(kEngineHelp)},
       {"engine-python", &O::engine_python, std::string(kEnginePythonHelp)},
       {"oracle", &O::oracle,
        "Engine that runs the given and the written file and compares their outputs, since the own "
        "check cannot see mistakes of the import: a name as in --engine, or none. auto: "
        "onnxruntime, if the Python has it, but not with --quick or --no-check"},
       {"kernels-from", &O::kernels_from,
        "Who divides the graph into kernels: the backend, after the graph is chosen; the "
        "extraction, together with the graph (egraph), or after it (graph)",
        base::one_of({"backend", "graph", "egraph"})},
       {"layouts", &O::layouts,
        "Who chooses the layouts of values between kernels (row-major, channels-last, blocked): "
        "the "
        "backend, or the extraction, which prices copies between layouts like kernels (egraph). "
        "With "
        "--kernels-from backend, the kernels stay those of the backend",
        base::one_of({"backend", "egraph"})},
       {"precision", &O::precision, backends::kPrecisionHelp,
        base::one_of(backends::precision_names())},
       {"error-budget", &O::error_budget,
        "Largest relative error of the outputs that less precision may cause: kernels with "
        "operands "
        "in f32, bf16 or int8 are chosen together with the graph (implies --kernels-from egraph). "
        "Samples to calibrate on and to measure the error on come from repeated --input; without "
        "them they are drawn. 0: f32 alone",
        base::range(0, 1)},
       {"forms-from", &O::forms_from,
        "Who chooses the precision of kernels under --error-budget: the extraction; or, to compare "
        "with: one layer after the other; or bf16 or int8 wherever there is a kernel, whatever the "
        "error",
        base::one_of(forms_from_names())},
       {"seed", &O::seed, "Seed of random numbers", base::range(0)},
       {"limit-nodes", &O::limit_nodes, "Stop saturation at this many e-nodes",
        base::range(1, 1e9)},
       {"limit-iterations", &O::limit_iterations, "Stop saturation after this many iterations",
        base::range(0, 1e6)},
       {"limit-time", &O::limit_time, "Stop saturation after this time", base::seconds()},
       {"limit-memory", &O::limit_memory, "Stop saturation when the e-graph takes this much memory",
        base::bytes(1 << 20)},
       {"limit-arena", &O::limit_arena, backends::kLimitArenaHelp, base::bytes(0)},
       {"multi-iterations", &O::multi_iterations,
        "Iterations in which rules with several sources run", base::range(0, 1e6)},
       {"extract-time", &O::extract_time, extract::kExtractTimeHelp, base::seconds()},
       {"search-alpha", &O::search_alpha,
        "backtracking: rewrite graphs that cost at most this factor times the best",
        base::range(1, 100)},
       {"search-budget", &O::search_budget,
        "backtracking: rewrite at most this many graphs, in each part if the graph is split",
        base::range(1, 1e9)},
       {"profile-time", &O::profile_time, "Time limit of measuring operators", base::seconds()},
       {"measure-time", &O::measure_time, "Time for measuring the candidates and the original",
        base::seconds()},
       {"check-samples", &O::check_samples,
        "Sets of random inputs on which outputs are compared with the original",
        base::range(1, 1000)},
       {"alternatives", &O::alternatives,
        "Additional candidates to measure, each extracted under perturbed costs",
        base::range(0, 1000)},
       {"alternative-spread", &O::alternative_spread, "Largest factor of the perturbation of costs",
        base::range(1, 1000)},
       {"alternative-kept", &O::alternative_kept,
        "Largest share of operators that an additional candidate keeps from the original; its "
        "share is random",
        base::range(0, 1)},
       {"forbid", &O::forbid, extract::kForbidHelp},
       {"quick", &O::quick,
        "Measure nothing: estimated costs, short limits, only rewrites that gain clearly. The "
        "result is checked"},
       {"no-check", &O::no_check, "Do not compare outputs with the original (unsafe)"},
       {"no-measure", &O::no_measure,
        "Do not measure the result against the original; trust the cost model"},
       {"allow-slower", &O::allow_slower,
        "Write the result even if it is measured slower than the original"},
       {"allow", &O::allow, std::string(rules::kAllowHelp), base::one_of(rules::allow_names())},
       {"fp", &O::fp,
        "What is kept of floating-point arithmetic: rounding keeps operators that count on "
        "rounding, such as (x + 12582912) - 12582912 and compensated sums; reals allows all that "
        "is equal in real arithmetic",
        base::one_of({"rounding", "reals"})}}};
  return rows;
}

OptimizeOptions quick(OptimizeOptions options) {
  const OptimizeOptions defaults;
  if (options.cost == "profiled") options.cost = "roofline";
  options.no_measure = true;
  options.profile_time = 0;
  if (options.limit_time == defaults.limit_time) options.limit_time = 0.2;
  if (options.limit_nodes == defaults.limit_nodes) options.limit_nodes = 10'000;
  if (options.extract_time == defaults.extract_time) options.extract_time = 0.05;
  return options;
}

}  // namespace egret::driver
