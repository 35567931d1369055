// SPDX-License-Identifier: Apache-2.0
// Saturation workloads from the literature, for benchmarks and tests: those for which egg, egglog
// and Oatlog publish figures, and all tests of egg's own suite. Rules, terms and their order are
// the same.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "egraph/core/analysis.h"
#include "egraph/search/goals.h"
#include "egraph/search/limits.h"
#include "egraph/search/runner.h"
#include "egraph/search/syntax.h"
#include "egraph/search/theory.h"

namespace egret::egraph::workloads {

struct Workload {
  std::string name;
  Theory theory;
  std::vector<std::string_view> terms;  // added in this order
  std::string_view scheduler = "simple";
  Limits limits;
  // Corresponds to egg's node limit: after a rule was applied, stop if more keys than this were
  // ever inserted into the hash-cons, stale ones included. This reproduces egg's sizes, where
  // limits.nodes stops sooner.
  std::uint64_t max_keys = Limits::kNone;
  bool proofs = false;  // with EGraph::enable_proofs()

  // What the class of the last term must contain at the end.
  std::vector<std::string_view> goals;
  bool stop_at_goals = false;
  bool is_true = false;  // the last term is stated to equal `true` before the run
};

// Finds a benchmark by its stable name (workload_names(), with any number in place of the given
// one) or one of egg's tests by egg's name (egg_test_names()). "math_powers" runs up to its limits,
// "math_powers/goal" until its goals are found. The usage error of an unknown name lists the
// benchmarks.
base::Result<Workload> find_workload(std::string_view name);
// The names of the benchmarks with figures to compare with.
std::span<const std::string_view> workload_names();
std::vector<std::string_view> egg_test_names();

// egg 0.11's time for a benchmark: one thread, 2-core x86-64 (AMD EPYC, 32 MB of L3 cache). Times
// differ from machine to machine; sizes do not.
struct EggFigures {
  std::size_t nodes;
  std::size_t classes;
  double seconds;
  double bytes_per_node;
};
std::optional<EggFigures> egg_figures(std::string_view workload);

// A workload's own e-graph, filled with its terms.
class Session {
 public:
  static base::Result<std::unique_ptr<Session>> open(Workload workload);

  EGraph& egraph() { return *egraph_; }
  Runner& runner() { return *runner_; }
  const Syntax& syntax() const { return syntax_; }
  std::span<const ClassId> roots() const { return roots_; }
  std::span<const Rewrite> rules() const { return rules_; }
  // Returns how many of the workload's goals the class of the last term contains. The e-graph must
  // be clean().
  std::size_t goals_found();

 private:
  explicit Session(Workload workload);

  base::Status add_terms();
  base::Status make_runner();

  Workload workload_;
  OpTable ops_;
  Syntax syntax_;
  std::unique_ptr<Analysis> analysis_;
  std::unique_ptr<EGraph> egraph_;
  std::vector<Rewrite> rules_;
  std::vector<ClassId> roots_;
  Goals goals_;
  std::unique_ptr<Runner> runner_;
};

}  // namespace egret::egraph::workloads
