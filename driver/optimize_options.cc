// SPDX-License-Identifier: Apache-2.0
#include "cost/database.h"
#include "cost/model.h"
#include "driver/optimize.h"
#include "driver/search/graph_search.h"
#include "extract/core/extractor.h"
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
      {{"rules", &O::rules,
        "Rules by set, tag, name, glob or file, all together; then ,+NAME keeps only those so "
        "called, ,-NAME none of them"},
       {"extractor", &O::extractor,
        "How the best graph is chosen: by an extractor from an e-graph, or (backtracking*) by a "
        "search over whole graphs",
        base::one_of(extractor_names())},
       {"cost", &O::cost,
        "What the extractor minimizes: measured times (profiled), those of the database and what "
        "lies between them (interpolated; nothing is measured), or estimates",
        base::one_of(cost_names())},
       {"cost-db", &O::cost_db, cost::kDatabaseHelp, base::path()},
       {"cost-machine", &O::cost_machine,
        "Machine in the database that interpolated costs are of: its name, or a part that no other "
        "has (default: this one)"},
       {"backend", &O::backend, "Backend that is measured and checked"},
       {"precision", &O::precision,
        "What its products and convolutions of f32 are computed in, with sums in f32, as by `egret "
        "run`: costs and times are those of this precision, and the check allows for it",
        base::one_of(backends::precision_names())},
       {"seed", &O::seed, "Seed of random inputs", base::range(0)},
       {"limit-nodes", &O::limit_nodes, "Stop saturation at this many e-nodes",
        base::range(1, 1e9)},
       {"limit-iterations", &O::limit_iterations, "Stop saturation after this many iterations",
        base::range(0, 1e6)},
       {"limit-time", &O::limit_time, "Stop saturation or a search after this time",
        base::seconds()},
       {"limit-memory", &O::limit_memory,
        "Stop saturation or a search when its graphs take this much", base::bytes(1 << 20)},
       {"limit-arena", &O::limit_arena,
        "Most memory that activations of the result may take, scratch space included; 0: any",
        base::bytes(0)},
       {"multi-iterations", &O::multi_iterations,
        "Iterations in which rules with several sources run", base::range(0, 1e6)},
       {"extract-time", &O::extract_time, "Most time of one extraction", base::seconds()},
       {"search-alpha", &O::search_alpha,
        "A search rewrites graphs up to this times the cost of the best", base::range(1, 100)},
       {"search-budget", &O::search_budget,
        "Most graphs that a search rewrites, in each part if it splits", base::range(1, 1e9)},
       {"profile-time", &O::profile_time, "Most time spent measuring operators for the cost model",
        base::seconds()},
       {"measure-time", &O::measure_time, "Time spent comparing the result with the original",
        base::seconds()},
       {"check-samples", &O::check_samples, "Sets of random inputs the outputs are checked on",
        base::range(1, 1000)},
       {"alternatives", &O::alternatives,
        "Graphs that are raced as well: chosen under prices that are a little wrong",
        base::range(0, 1000)},
       {"alternative-spread", &O::alternative_spread,
        "The factor by which these prices may be wrong", base::range(1, 1000)},
       {"alternative-kept", &O::alternative_kept,
        "Most of the places in which such a graph keeps the program's operators; how many is drawn",
        base::range(0, 1)},
       {"forbid", &O::forbid,
        "Operators that the result must not have, nor be written as, as `egret ops` names them"},
       {"no-check", &O::no_check, "Do not compare outputs with the original (unsafe)"},
       {"no-measure", &O::no_measure,
        "Trust the cost model; do not time the result against the original"},
       {"allow-slower", &O::allow_slower, "Write the result even when it is measured slower"},
       {"allow", &O::allow, std::string(rules::kAllowHelp), base::one_of(rules::allow_names())}}};
  return rows;
}

}  // namespace egret::driver
