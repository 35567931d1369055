// SPDX-License-Identifier: Apache-2.0
#include "extract/extractors/windows.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/timer.h"
#include "extract/core/choice_walk.h"
#include "extract/core/parents.h"

namespace egret::extract {
namespace {

constexpr std::size_t kFirstSize = 48;  // classes of a window; each next size is twice as large
constexpr std::size_t kMostUsers = 64;  // of a class that a window grows through
constexpr double kLeastGain = 1e-9;     // of the cost
// The time of one window, as a share of what is left; most windows take milliseconds.
constexpr double kWindowShare = 0.1;
constexpr double kWindowSeconds = 2;

// The classes of an answer and of a window as a problem of their own: of a class of the window all
// nodes that need no other classes, of the others the answer's node. Its size is that of the answer
// and the window, not of the whole problem.
struct Part {
  EGraphView graph;
  std::vector<double> costs;
  std::vector<SideRow> rows;
  std::vector<ClassIndex> classes;  // of the whole problem, by class
  std::vector<NodeIndex> nodes;     // likewise, by node

  Problem problem() const { return {graph, costs}; }
};

class Windows {
 public:
  Windows(const Problem& problem, std::span<const SideRow> rows, const Options& options,
          Solution known)
      : problem_(problem),
        rows_(rows),
        options_(options),
        parents_(problem.graph),
        class_in_part_(problem.graph.class_count(), kNoNode),
        node_in_part_(problem.graph.node_count(), kNoNode),
        best_(std::move(known)) {}

  Solution run() {
    const std::size_t all = problem_.graph.class_count();
    for (std::size_t size = kFirstSize; !stopped(); size *= 2) {
      // Windows of more than half of the classes take as long as one of all, and there are many.
      const bool is_last = 2 * size > all;
      if (is_last) size = all;
      bool improved = true;
      while (improved && !stopped()) improved = sweep(size);
      if (is_last) break;
    }
    return std::move(best_);
  }

 private:
  bool stopped() const {
    return best_.quality == Quality::kOptimal || deadline_.expired() ||
           (options_.should_stop && options_.should_stop());
  }

  // Windows around the classes of the answer, so that each is in the inner half of one.
  bool sweep(std::size_t size) {
    bool improved = false;
    std::vector<bool> covered(problem_.graph.class_count(), false);
    const std::vector<ClassIndex> order = walk_choice(problem_, best_.choice).order;
    for (const ClassIndex seed : order) {
      if (covered[seed] || best_.choice[seed] == kNoNode) continue;
      if (stopped()) break;
      const std::vector<ClassIndex> window = around(seed, size);
      const bool is_whole = window.size() == covered.size();
      const std::size_t inner = is_whole ? window.size() : (window.size() + 1) / 2;
      for (std::size_t i = 0; i < inner; ++i) covered[window[i]] = true;
      improved = solve(window) || improved;
    }
    return improved;
  }

  // The classes nearest to the seed, over needs and users. Classes that many others use, such as
  // constants, do not make these others neighbours.
  std::vector<ClassIndex> around(ClassIndex seed, std::size_t size) const {
    const EGraphView& graph = problem_.graph;
    std::unordered_set<ClassIndex> inside{seed};
    std::vector<ClassIndex> window{seed};
    const auto visit = [&](ClassIndex c) {
      if (window.size() < size && inside.insert(c).second) window.push_back(c);
    };
    for (std::size_t i = 0; i < window.size() && window.size() < size; ++i) {
      const ClassIndex c = window[i];
      for (NodeIndex node = graph.class_begin[c]; node < graph.class_begin[c + 1]; ++node) {
        if (!std::isfinite(problem_.costs[node])) continue;
        for (const ClassIndex child : graph.children_of(node)) visit(child);
      }
      const auto users = parents_.of(c);
      if (users.size() > kMostUsers) continue;
      for (const NodeIndex user : users) {
        if (std::isfinite(problem_.costs[user])) visit(graph.node_class[user]);
      }
    }
    // Where fewer hang together, rows may couple them with others.
    for (ClassIndex c = 0; c < graph.class_count() && window.size() < size; ++c) visit(c);
    return window;
  }

  void enter(ClassIndex c, Part& part) {
    if (class_in_part_[c] != kNoNode) return;
    class_in_part_[c] = static_cast<ClassIndex>(part.classes.size());
    part.classes.push_back(c);
  }
  Part part_with(const std::vector<ClassIndex>& window) {
    const EGraphView& graph = problem_.graph;
    Part part;
    for (const ClassIndex c : window) enter(c, part);
    const std::size_t free = part.classes.size();
    for (ClassIndex c = 0; c < graph.class_count(); ++c) {
      if (best_.choice[c] != kNoNode) enter(c, part);
    }
    const auto is_here = [&](ClassIndex c) { return class_in_part_[c] != kNoNode; };
    for (std::size_t i = 0; i < part.classes.size(); ++i) {
      const ClassIndex c = part.classes[i];
      for (NodeIndex node = graph.class_begin[c]; node < graph.class_begin[c + 1]; ++node) {
        const bool is_free = i < free && std::isfinite(problem_.costs[node]) &&
                             std::ranges::all_of(graph.children_of(node), is_here);
        if (!is_free && best_.choice[c] != node) continue;
        node_in_part_[node] = static_cast<NodeIndex>(part.nodes.size());
        part.nodes.push_back(node);
        for (const ClassIndex child : graph.children_of(node))
          part.graph.children.push_back(class_in_part_[child]);
        part.graph.child_begin.push_back(static_cast<ClassIndex>(part.graph.children.size()));
        part.graph.node_class.push_back(static_cast<ClassIndex>(i));
        part.graph.node_op.push_back(graph.node_op[node]);
        part.costs.push_back(problem_.costs[node]);
      }
      part.graph.class_begin.push_back(static_cast<ClassIndex>(part.nodes.size()));
      part.graph.class_id.emplace_back(i);
    }
    for (const ClassIndex root : graph.roots) part.graph.roots.push_back(class_in_part_[root]);
    for (const SideRow& row : rows_) {
      part.rows.push_back({.most = row.most, .nodes = {}, .weights = {}});
      for (std::size_t i = 0; i < row.nodes.size(); ++i) {
        const NodeIndex node = node_in_part_[row.nodes[i]];
        if (node != kNoNode) part.rows.back().add(node, row.weights[i]);
      }
    }
    return part;
  }
  void leave(const Part& part) {
    for (const ClassIndex c : part.classes) class_in_part_[c] = kNoNode;
    for (const NodeIndex node : part.nodes) node_in_part_[node] = kNoNode;
  }

  // Whether the best choice of the window improved the answer.
  bool solve(const std::vector<ClassIndex>& window) {
    const Part part = part_with(window);
    std::vector<NodeIndex> choice(part.classes.size(), kNoNode);
    for (std::size_t i = 0; i < choice.size(); ++i) {
      const NodeIndex node = best_.choice[part.classes[i]];
      if (node != kNoNode) choice[i] = node_in_part_[node];
    }
    leave(part);
    const Solution known = solution_of(part.problem(), std::move(choice));
    Options options = options_;
    options.time_limit_s = std::min(kWindowSeconds, kWindowShare * deadline_.remaining());
    const auto found = extract_within(part.problem(), part.rows, options, &known);
    if (!found.ok()) return false;
    const bool whole = window.size() == problem_.graph.class_count();
    const bool proven = whole && found->quality == Quality::kOptimal;
    const bool better = found->dag_cost < known.dag_cost - kLeastGain * std::abs(known.dag_cost);
    if (better) {
      std::vector<NodeIndex> changed(best_.choice.size(), kNoNode);
      for (std::size_t i = 0; i < found->choice.size(); ++i) {
        if (found->choice[i] != kNoNode) changed[part.classes[i]] = part.nodes[found->choice[i]];
      }
      const double bound = best_.bound;
      best_ = solution_of(problem_, std::move(changed));
      best_.bound = std::min(bound, best_.dag_cost);
    }
    if (proven) {
      best_.bound = best_.dag_cost;
      best_.quality = Quality::kOptimal;
    }
    return better;
  }

  const Problem& problem_;
  const std::span<const SideRow> rows_;
  const Options& options_;
  const base::Deadline deadline_ = base::Deadline::after(options_.time_limit_s);
  Parents parents_;
  std::vector<ClassIndex> class_in_part_;  // kNoNode: in none
  std::vector<NodeIndex> node_in_part_;
  Solution best_;
};

}  // namespace

Solution improve_in_windows(const Problem& problem, std::span<const SideRow> rows,
                            const Options& options, Solution known) {
  return Windows(problem, rows, options, std::move(known)).run();
}

}  // namespace egret::extract
