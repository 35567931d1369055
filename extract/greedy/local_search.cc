// SPDX-License-Identifier: Apache-2.0
#include "extract/greedy/local_search.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/timer.h"
#include "extract/core/cheapest_terms.h"
#include "extract/core/choice_walk.h"
#include "extract/core/parents.h"
#include "extract/greedy/dag_greedy.h"

namespace egret::extract {
namespace {

// The minimal relative gain. It exceeds rounding errors; otherwise two equal choices would
// alternate forever.
constexpr double kLeastGain = 1e-9;

// First-improvement local search on the DAG cost. Two moves: a class takes another node
// (switch_round); several classes take parents of a class that is not used yet (share_round). Each
// trial walks the whole choice. Each accepted move lowers the cost by at least the relative gain
// kLeastGain, so the search ends in a local optimum.
class LocalSearch {
 public:
  LocalSearch(const Problem& problem, const Options& options, std::vector<NodeIndex> choice)
      : problem_(problem),
        options_(options),
        parents_(problem.graph),
        walker_(problem),
        choice_(std::move(choice)),
        deadline_(base::Deadline::after(options.time_limit_s)) {
    cost_ = walker_.walk(choice_).dag_cost;
  }

  std::vector<NodeIndex> run() {
    bool improved = true;
    while (improved && !stopped_) {
      improved = share_round();
      improved = switch_round() || improved;
    }
    return std::move(choice_);
  }

 private:
  struct Change {
    ClassIndex c;
    NodeIndex node;
  };

  bool stop() {
    if (!stopped_ && (deadline_.expired() || (options_.should_stop && options_.should_stop())))
      stopped_ = true;
    return stopped_;
  }

  // The cost after the changes; nullopt if they close a cycle. Restores choice_ before it returns.
  std::optional<double> cost_with(std::span<const Change> changes) {
    before_.clear();
    for (const Change& change : changes) {
      before_.push_back({change.c, choice_[change.c]});
      choice_[change.c] = change.node;
    }
    const ChoiceWalk& walk = walker_.walk(choice_);
    for (std::size_t i = before_.size(); i-- > 0;) choice_[before_[i].c] = before_[i].node;
    if (walk.outcome != ChoiceWalk::Outcome::kComplete) return std::nullopt;
    return walk.dag_cost;
  }

  bool better(const std::optional<double>& cost) const {
    return cost && *cost < cost_ - kLeastGain * std::max(1e-12, std::abs(cost_));
  }

  bool take_if_better(std::span<const Change> changes) {
    const std::optional<double> cost = cost_with(changes);
    if (!better(cost)) return false;
    for (const Change& change : changes) choice_[change.c] = change.node;
    cost_ = *cost;
    return true;
  }

  std::vector<bool> used_classes() {
    std::vector<bool> used(problem_.graph.class_count(), false);
    for (const ClassIndex c : walker_.walk(choice_).order) used[c] = true;
    return used;
  }

  bool switch_round() {
    const EGraphView& graph = problem_.graph;
    const std::vector<bool> used = used_classes();
    bool improved = false;
    for (ClassIndex c = 0; c < graph.class_count() && !stop(); ++c) {
      if (!used[c]) continue;
      for (NodeIndex node = graph.class_begin[c]; node < graph.class_begin[c + 1]; ++node) {
        if (node == choice_[c] || !available(node) || stop()) continue;
        const Change change{c, node};
        improved = take_if_better({&change, 1}) || improved;
      }
    }
    return improved;
  }

  // Whether the node is allowed and all its children have a term.
  bool available(NodeIndex node) const {
    return std::isfinite(problem_.costs[node]) &&
           std::ranges::all_of(problem_.graph.children_of(node),
                               [&](ClassIndex child) { return choice_[child] != kNoNode; });
  }

  bool share_round() {
    bool improved = false;
    std::vector<bool> used = used_classes();
    for (ClassIndex shared = 0; shared < problem_.graph.class_count() && !stop(); ++shared) {
      if (used[shared] || choice_[shared] == kNoNode) continue;
      if (share(shared, used)) {
        improved = true;
        used = used_classes();
      }
    }
    return improved;
  }

  // Lets all used classes that can be derived from `shared` take it. Then reverts, one by one, the
  // changes that do not pay. Of several candidates that a class could take, the cheapest is tried.
  // At least two changes remain, because a single one is a move of switch_round().
  bool share(ClassIndex shared, const std::vector<bool>& used) {
    std::vector<Change> changes;
    for (const NodeIndex parent : parents_.of(shared)) {
      const ClassIndex c = problem_.graph.node_class[parent];
      if (!used[c] || choice_[c] == parent || !available(parent)) continue;
      const auto same = std::ranges::find(changes, c, &Change::c);
      if (same == changes.end()) {
        changes.push_back({c, parent});
      } else if (problem_.costs[parent] < problem_.costs[same->node]) {
        same->node = parent;
      }
    }
    if (changes.size() < 2) return false;  // switch_round() tries single users
    std::optional<double> cost = cost_with(changes);
    for (std::size_t i = changes.size(); i-- > 0 && changes.size() > 2 && !stop();) {
      std::vector<Change> fewer = changes;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      const std::optional<double> cost_of_fewer = cost_with(fewer);
      if (cost_of_fewer && (!cost || *cost_of_fewer < *cost)) {
        cost = cost_of_fewer;
        changes = std::move(fewer);
      }
    }
    return take_if_better(changes);
  }

  const Problem& problem_;
  const Options& options_;
  Parents parents_;
  ChoiceWalker walker_;
  std::vector<NodeIndex> choice_;
  std::vector<Change> before_;
  base::Deadline deadline_;
  double cost_ = 0;
  bool stopped_ = false;
};

}  // namespace

std::vector<NodeIndex> improve_choice(const Problem& problem, const Options& options,
                                      std::vector<NodeIndex> choice) {
  return LocalSearch(problem, options, std::move(choice)).run();
}

base::Result<Solution> extract_local_search(const Problem& problem, const Options& options) {
  const base::Deadline deadline = base::Deadline::after(options.time_limit_s);
  const auto in_time = [&] {
    Options rest = options;
    rest.time_limit_s = deadline.remaining();
    return rest;
  };
  TreeChoice tree = cheapest_terms(problem);
  EGRET_RETURN_IF_ERROR(check_roots(problem, tree.choice));
  // Two starts, because a local optimum depends on its start: the terms that are cheapest as trees,
  // and the sets that are cheapest as graphs.
  std::vector<NodeIndex> best = improve_choice(problem, in_time(), tree.choice);
  const std::vector<NodeIndex> dags = cheapest_dags(problem, in_time());
  if (walk_choice(problem, dags).outcome == ChoiceWalk::Outcome::kComplete) {
    std::vector<NodeIndex> other = improve_choice(problem, in_time(), dags);
    if (walk_choice(problem, other).dag_cost < walk_choice(problem, best).dag_cost)
      best = std::move(other);
  }
  return solution_of(problem, std::move(best));
}

namespace extracting {

ExtractorRow local_search() {
  return {"local-search", "dag-greedy improved by moves that let several classes share a new one",
          &extract_local_search};
}

}  // namespace extracting

}  // namespace egret::extract
