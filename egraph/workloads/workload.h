// SPDX-License-Identifier: Apache-2.0
// Saturation workloads from the literature, for benchmarks and tests: what egg, egglog and Oatlog
// publish figures for. Same rules, same terms, same order.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "egraph/analysis.h"
#include "egraph/limits.h"
#include "egraph/runner.h"
#include "egraph/syntax.h"

namespace egret::egraph::workloads {

struct Workload {
  std::string name;
  std::string_view rules;               // Syntax::rules() text
  std::vector<std::string_view> terms;  // added in this order
  bool folds_constants = false;         // with ConstantFolding and its conditions
  std::string_view scheduler = "simple";
  Limits limits;
  // As egg's node limit: after a rule was applied, stop when more contents than this were ever put
  // into the hash-cons, stale ones included. Gives egg's sizes, where limits.nodes stops sooner.
  std::uint64_t max_keys = Limits::kNone;
};

// By its stable name: mm-N, assoc-N, math-simple-1m, math-backoff-N, scale-all-rat-1m,
// scale-bench7-rat-1m. A usage error lists the names there are.
base::Result<Workload> find_workload(std::string_view name);
// Those with figures to compare with.
std::span<const std::string_view> workload_names();

// A workload's own e-graph, with its terms in it.
class Session {
 public:
  static base::Result<std::unique_ptr<Session>> open(Workload workload);

  EGraph& egraph() { return *egraph_; }
  Runner& runner() { return *runner_; }
  const Syntax& syntax() const { return syntax_; }
  std::span<const ClassId> roots() const { return roots_; }

 private:
  explicit Session(Workload workload);

  Workload workload_;
  OpTable ops_;
  Syntax syntax_;
  std::unique_ptr<Analysis> analysis_;
  std::unique_ptr<EGraph> egraph_;
  std::vector<Rewrite> rules_;
  std::vector<ClassId> roots_;
  std::unique_ptr<Runner> runner_;
};

}  // namespace egret::egraph::workloads
