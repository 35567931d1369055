// SPDX-License-Identifier: Apache-2.0
#include "extract/greedy/dag_greedy.h"

#include <algorithm>
#include <cmath>
#include <deque>

#include "base/timer.h"
#include "extract/core/cheapest_terms.h"
#include "extract/core/choice_walk.h"
#include "extract/core/parents.h"

namespace egret::extract {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// One entry of a cost set: a class and the cost of its chosen node. Sets are ascending by class.
struct Needed {
  ClassIndex c;
  double cost;
};

struct CostSet {
  std::vector<Needed> needed;
  double total = kInfinite;
  NodeIndex choice = kNoNode;
};

// A worklist iteration. The cost set of a class holds the classes that its best term needs, each
// counted once. A node is recomputed when the set of a child became cheaper. The total of a class
// only falls, and there are finitely many choices, so the iteration ends. It is a heuristic: a cost
// set is the best union for its class alone, not for the whole answer.
class DagGreedy {
 public:
  DagGreedy(const Problem& problem, const Options& options)
      : problem_(problem),
        options_(options),
        deadline_(base::Deadline::after(options.time_limit_s)),
        parents_(problem.graph),
        sets_(problem.graph.class_count()) {}

  std::vector<NodeIndex> run() {
    const EGraphView& graph = problem_.graph;
    std::vector<bool> queued(graph.node_count(), false);
    std::deque<NodeIndex> queue;
    const auto push = [&](NodeIndex node) {
      if (!queued[node] && std::isfinite(problem_.costs[node])) {
        queued[node] = true;
        queue.push_back(node);
      }
    };
    for (NodeIndex node = 0; node < graph.node_count(); ++node) {
      if (graph.children_of(node).empty()) push(node);
    }
    std::size_t steps = 0;
    while (!queue.empty()) {
      const NodeIndex node = queue.front();
      queue.pop_front();
      queued[node] = false;
      if (!improve(node)) continue;
      for (const NodeIndex parent : parents_.of(graph.node_class[node])) push(parent);
      // Sets may be as long as the graph is deep, so one step can be slow.
      if (++steps % 64 == 0 && stopped()) break;
    }
    std::vector<NodeIndex> choice;
    for (const CostSet& set : sets_) choice.push_back(set.choice);
    return choice;
  }

 private:
  bool stopped() const {
    return deadline_.expired() || (options_.should_stop && options_.should_stop());
  }

  // Recomputes the set of `node`. Returns whether its class got a cheaper one.
  bool improve(NodeIndex node) {
    const ClassIndex self = problem_.graph.node_class[node];
    merged_.clear();
    for (const ClassIndex child : problem_.graph.children_of(node)) {
      if (!std::isfinite(sets_[child].total)) return false;
      if (!absorb(sets_[child].needed, self)) return false;  // would need itself
    }
    const double own = problem_.costs[node];
    double total = own;
    for (const Needed& entry : merged_) total += entry.cost;
    if (total >= sets_[self].total) return false;
    const auto at = std::ranges::lower_bound(merged_, self, {}, &Needed::c);
    merged_.insert(at, {self, own});
    sets_[self].needed = merged_;
    sets_[self].total = total;
    sets_[self].choice = node;
    return true;
  }

  // Merges `more` into merged_; returns false if it contains `self`. If two sets chose different
  // nodes for a class, the first entry stays. The total is then an estimate that later rounds
  // correct.
  bool absorb(const std::vector<Needed>& more, ClassIndex self) {
    scratch_.clear();
    auto a = merged_.begin();
    auto b = more.begin();
    while (a != merged_.end() || b != more.end()) {
      const bool from_a = b == more.end() || (a != merged_.end() && a->c <= b->c);
      if (from_a && b != more.end() && a->c == b->c) ++b;
      const Needed entry = from_a ? *a++ : *b++;
      if (entry.c == self) return false;
      scratch_.push_back(entry);
    }
    std::swap(merged_, scratch_);
    return true;
  }

  const Problem& problem_;
  const Options& options_;
  base::Deadline deadline_;
  Parents parents_;
  std::vector<CostSet> sets_;
  std::vector<Needed> merged_;
  std::vector<Needed> scratch_;
};

}  // namespace

std::vector<NodeIndex> cheapest_dags(const Problem& problem, const Options& options) {
  return DagGreedy(problem, options).run();
}

base::Result<Solution> extract_dag_greedy(const Problem& problem, const Options& options) {
  TreeChoice tree = cheapest_terms(problem);
  EGRET_RETURN_IF_ERROR(check_roots(problem, tree.choice));
  Solution best = solution_of(problem, tree.choice);
  // Sets of different ages may disagree, so the joint choice can be cyclic. Then the tree solution
  // stays.
  const std::vector<NodeIndex> choice = cheapest_dags(problem, options);
  if (walk_choice(problem, choice).outcome == ChoiceWalk::Outcome::kComplete) {
    Solution dag = solution_of(problem, choice);
    if (dag.dag_cost < best.dag_cost) best = std::move(dag);
  }
  return best;
}

namespace extracting {

ExtractorRow dag_greedy() {
  return {"dag-greedy", "cheapest set of nodes per class, shared nodes counted once",
          &extract_dag_greedy};
}

}  // namespace extracting

}  // namespace egret::extract
