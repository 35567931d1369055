// SPDX-License-Identifier: Apache-2.0
#include "driver/search/backtracking.h"

#include <boost/unordered/unordered_flat_set.hpp>
#include <limits>
#include <queue>
#include <vector>

#include "base/stop.h"
#include "base/timer.h"
#include "driver/search/term_prices.h"
#include "rules/tensors/term_graph.h"

namespace egret::driver {
namespace {

using egraph::ClassId;
using rules::Replacement;
using rules::TermGraph;

constexpr base::ProgressColumn kWaiting{"waiting", "waiting", base::ProgressColumn::Unit::kCount,
                                        "graphs that wait to be rewritten"};

// Best-first search over whole graphs, after TASO (Jia et al., 2019): the cheapest waiting graph is
// rewritten at every match, and a result is queued if it costs less than alpha times the best. All
// graphs share one e-graph as a hash-consed term store; nothing is merged in it. A queued graph
// stores only the replacements that made it from its parent, and its terms are built when it is
// taken from the queue.
class Search {
 public:
  Search(rules::TensorEGraph& terms, const rules::AdmittedRules& rules, const PriceOf& price,
         const GraphSearchOptions& options)
      : terms_(terms),
        rules_(rules::compile(rules, terms)),
        prices_(terms, price),
        options_(options),
        deadline_(base::Deadline::after(options.seconds)) {}

  base::Result<GraphSearchResult> run() {
    const base::Progress progress(options_.progress, "search");
    EGRET_RETURN_IF_ERROR(start());
    while (!queue_.empty() && !should_stop()) {
      const std::uint32_t at = queue_.top().state;
      queue_.pop();
      ++result_.rewritten;
      EGRET_ASSIGN_OR_RETURN(const TermGraph program, program_of(at));
      EGRET_RETURN_IF_ERROR(rewrite(program, at));
      if (progress.due()) {
        progress.report({{base::kIteration, result_.rewritten},
                         {base::kENodes, terms_.egraph().id_count()},
                         {base::kBestCost, states_[best_].cost},
                         {kWaiting, queue_.size()}});
      }
    }
    return finish();
  }

 private:
  // A graph: what replaces what in another.
  struct State {
    double cost = 0;
    std::uint32_t from = 0;  // a state; of the original its own
    std::uint32_t rule = 0;
    std::vector<Replacement> by{};
    std::vector<ClassId> outputs{};  // once it was taken from the queue
  };
  struct Waiting {
    double cost;
    std::uint32_t state;
    // Of a priority queue the greatest is first.
    bool operator<(const Waiting& other) const {
      return cost != other.cost ? cost > other.cost : state > other.state;
    }
  };

  base::Status start() {
    State original;
    original.outputs = terms_.roots();
    const ProgramPrice price = prices_.of(original.outputs);
    if (price.seconds == std::numeric_limits<double>::infinity())
      return base::unsupported("the cost model has no cost for an operator of the graph");
    original.cost = price.seconds;
    seen_.insert(price.identity);
    queue_.push({original.cost, 0});
    states_.push_back(std::move(original));
    return base::ok();
  }

  // Builds a queued graph's terms on demand. Most queued graphs are never taken, so only their
  // replacements are kept.
  base::Result<TermGraph> program_of(std::uint32_t at) {
    State& state = states_[at];
    // The parent was taken from the queue earlier, so its outputs are known.
    if (state.outputs.empty()) {
      const TermGraph parent(terms_, states_[state.from].outputs);
      EGRET_ASSIGN_OR_RETURN(state.outputs, rules::replaced(terms_, parent, state.by));
    }
    return TermGraph(terms_, state.outputs);
  }

  base::Status rewrite(const TermGraph& program, std::uint32_t from) {
    base::Status status = base::ok();
    for (std::uint32_t rule = 0; rule < rules_.size(); ++rule) {
      const egraph::Rewrite& rewrite = rules_[rule].rewrite;
      rules::for_each_match(terms_, program, rewrite.pattern(), [&](const egraph::Match& match) {
        if (status.ok() && !out_of_time()) status = try_match(program, from, rule, match);
      });
      if (!status.ok() || out_of_time()) break;
    }
    return status;
  }

  // What becomes of one match. Of terms that are made for the price alone nothing is left.
  base::Status try_match(const TermGraph& program, std::uint32_t from, std::uint32_t rule,
                         const egraph::Match& match) {
    egraph::EGraph& egraph = terms_.egraph();
    // Two savepoints: a rejected result leaves no terms, and an accepted one keeps only the terms
    // of the replacement. The terms between it and the outputs are rebuilt later.
    const egraph::EGraph::Savepoint before = egraph.savepoint();
    std::vector<Replacement> by = rules::replacements(terms_, rules_[rule].rewrite, match);
    if (by.empty()) return base::ok();
    const egraph::EGraph::Savepoint replaced = egraph.savepoint();
    EGRET_ASSIGN_OR_RETURN(const std::vector<ClassId> outputs,
                           rules::replaced(terms_, program, by));
    const ProgramPrice price = prices_.of(outputs);
    const bool wanted =
        price.seconds < options_.alpha * states_[best_].cost && seen_.insert(price.identity).second;
    EGRET_CHECK(egraph.rollback(wanted ? replaced : before), "nothing is merged here");
    prices_.forget_missing();
    if (!wanted) return base::ok();
    const auto state = static_cast<std::uint32_t>(states_.size());
    queue_.push({price.seconds, state});
    states_.push_back({price.seconds, from, rule, std::move(by)});
    if (price.seconds < states_[best_].cost) best_ = state;
    return base::ok();
  }

  bool out_of_time() {
    if (!out_of_time_) out_of_time_ = deadline_.expired() || base::stop_requested();
    return out_of_time_;
  }

  bool should_stop() {
    if (base::stop_requested()) {
      result_.stop_reason = "interrupted";
    } else if (out_of_time()) {
      result_.stop_reason = "time limit";
    } else if (terms_.egraph().bytes() + states_.size() * sizeof(State) > options_.bytes) {
      result_.stop_reason = "byte limit";
    } else if (result_.rewritten >= static_cast<std::uint64_t>(options_.budget)) {
      result_.stop_reason = "budget";
      return true;
    }
    result_.limit_hit = !result_.stop_reason.empty();
    return result_.limit_hit;
  }

  base::Result<GraphSearchResult> finish() {
    // The last graph may have used up the time.
    if (result_.stop_reason.empty() && !should_stop()) result_.stop_reason = "exhausted";
    EGRET_ASSIGN_OR_RETURN(const TermGraph program, program_of(best_));
    EGRET_ASSIGN_OR_RETURN(result_.graph, rules::to_graph(terms_, program));
    result_.cost = states_[best_].cost;
    result_.seen = seen_.size();
    result_.terms = terms_.egraph().id_count();
    for (std::uint32_t at = best_; at != 0; at = states_[at].from)
      ++result_.applied[rules_[states_[at].rule].name()];
    return std::move(result_);
  }

  rules::TensorEGraph& terms_;
  std::vector<rules::CompiledRule> rules_;
  TermPrices prices_;
  const GraphSearchOptions& options_;
  base::Deadline deadline_;
  bool out_of_time_ = false;
  std::vector<State> states_;
  std::uint32_t best_ = 0;
  std::priority_queue<Waiting> queue_;
  boost::unordered_flat_set<std::uint64_t> seen_;
  GraphSearchResult result_;
};

}  // namespace

base::Result<GraphSearchResult> backtrack(const ir::Graph& graph, const rules::AdmittedRules& rules,
                                          const PriceOf& price, const GraphSearchOptions& options) {
  EGRET_ASSIGN_OR_RETURN(const auto terms, rules::TensorEGraph::from_graph(graph));
  return Search(*terms, rules, price, options).run();
}

}  // namespace egret::driver
