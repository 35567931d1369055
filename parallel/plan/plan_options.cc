// SPDX-License-Identifier: Apache-2.0
// The options of `egret plan` about a model, as a table.
#include <string>
#include <vector>

#include "extract/core/extractor.h"
#include "extract/core/option_help.h"
#include "extract/recompute/methods.h"
#include "parallel/plan/planner.h"
#include "parallel/plan/strategies.h"
#include "rules/tensors/admitted_rules.h"

namespace egret::parallel {
namespace {

template <typename Rows>
std::vector<std::string> names_of(const Rows& rows, std::string_view first = {}) {
  std::vector<std::string> names;
  if (!first.empty()) names.emplace_back(first);
  for (const auto& row : rows) names.emplace_back(row.name);
  return names;
}

}  // namespace

const base::OptionTable<ParallelPlanOptions>& ParallelPlanOptions::table() {
  using P = ParallelPlanOptions;
  static const base::OptionTable<P> rows{
      "plan",
      {{"rules", &P::rules, std::string(rules::kRulesHelp)},
       {"allow", &P::allow, std::string(rules::kAllowHelp), base::one_of(rules::allow_names())},
       {"extractor", &P::extractor, extract::kExtractorHelp,
        base::one_of(names_of(extract::extractors()))},
       {"strategy", &P::strategy,
        "Kind of plan: data, tensor or expert parallelism, data and tensor parallelism along "
        "different axes, ZeRO, or any (the fastest plan)",
        base::one_of(names_of(strategies()))},
       {"search", &P::search,
        "Search that makes the plan: Egret's, or for comparison another planner's at the same "
        "costs (exhaustive; OptCNN's chain; FlexFlow's mcmc; Unity's best-first), for at most one "
        "minute, of all layers and without a limit of memory",
        base::one_of(names_of(plan_searches(), kOwnSearch))},
       {"limit-nodes", &P::limit_nodes, "Stop saturation at this many e-nodes",
        base::range(1, 1e9)},
       {"extract-time", &P::extract_time, extract::kExtractTimeHelp, base::seconds()},
       {"device-memory", &P::device_memory,
        "Memory limit of weights, inputs and activations on one device; 0: the machine's memory",
        base::bytes()},
       {"layers", &P::layers,
        "Number of equal layers to plan (2 or more); the other layers are placed as the second "
        "one. 0 plans all layers, which takes longer for deep programs",
        base::range(0, 1'000'000)},
       {"sequential", &P::sequential,
        "Rewrite the program for one device first, then distribute the result. Otherwise rewrites "
        "and placements are chosen together"},
       {"searches", &P::searches,
        "Plan all layers, and also run the searches of other planners: exhaustive, chain by chain, "
        "random walk and best first, each for at most one minute"},
       {"explain", &P::explain,
        "For the largest inputs and weights, print the time of the best plan with another "
        "placement"},
       {"overlap", &P::overlap,
        "Times are those of a simulation in which exchanges run beside computation; the program "
        "gets an order for that, and no value is computed again"},
       {"limit-check", &P::limit_check,
        "Time for comparing the plan with the model on all ranks; 0: no comparison. `egret "
        "verify-plan` proves a plan of any size",
        base::seconds()},
       {"recompute-by", &P::recompute_by, extract::recompute_help(),
        base::one_of(names_of(extract::recompute_methods(), "none"))},
       {"recompute-time", &P::recompute_time,
        "Time limit of one search for values to compute again", base::seconds()},
       {"storage-rate", &P::storage_rate,
        "Bytes a second between a device and slower storage. Values may then be copied there and "
        "back instead of being computed again; 0: none are",
        base::bytes()},
       {"sharded-inputs", &P::sharded_inputs,
        "Allow inputs to arrive in blocks; otherwise every rank receives whole inputs"}}};
  return rows;
}

}  // namespace egret::parallel
