// SPDX-License-Identifier: Apache-2.0
#include "extract/core/core.h"

#include <algorithm>
#include <cmath>

#include "extract/core/cheapest_terms.h"

namespace egret::extract {
namespace {

// The distinct children, ascending.
std::vector<ClassIndex> needs_of(const EGraphView& graph, NodeIndex node) {
  const auto children = graph.children_of(node);
  std::vector<ClassIndex> needs(children.begin(), children.end());
  std::sort(needs.begin(), needs.end());
  needs.erase(std::unique(needs.begin(), needs.end()), needs.end());
  return needs;
}

// Collects the classes that the roots reach, in breadth-first order. Omits candidates that no
// answer can use: infinite cost, a self-loop, or a child without a term.
class Builder {
 public:
  Builder(const Problem& problem, std::span<const NodeIndex> terms)
      : problem_(problem), terms_(terms), index_(problem.graph.class_count(), kNoNode) {}

  Core build() {
    for (const ClassIndex root : problem_.graph.roots) visit(root);
    for (std::size_t i = 0; i < order_.size(); ++i) {  // grows
      const ClassIndex c = order_[i];
      for (NodeIndex node = problem_.graph.class_begin[c]; node < problem_.graph.class_begin[c + 1];
           ++node) {
        if (!usable(node)) continue;
        Candidate made{problem_.costs[node], needs_of(problem_.graph, node), {node}};
        for (ClassIndex& need : made.needs) need = visit(need);
        std::sort(made.needs.begin(), made.needs.end());
        core_.classes[i].push_back(std::move(made));  // visit() may have moved the classes
      }
    }
    core_.required.resize(core_.classes.size(), false);
    for (const ClassIndex root : problem_.graph.roots) core_.required[index_[root]] = true;
    core_.decided.assign(problem_.graph.class_count(), kNoNode);
    return std::move(core_);
  }

 private:
  bool usable(NodeIndex node) const {
    const ClassIndex self = problem_.graph.node_class[node];
    return std::isfinite(problem_.costs[node]) &&
           std::ranges::all_of(problem_.graph.children_of(node), [&](ClassIndex child) {
             return child != self && terms_[child] != kNoNode;
           });
  }
  ClassIndex visit(ClassIndex c) {
    if (index_[c] == kNoNode) {
      index_[c] = static_cast<ClassIndex>(order_.size());
      order_.push_back(c);
      core_.classes.emplace_back();
    }
    return index_[c];
  }

  const Problem& problem_;
  std::span<const NodeIndex> terms_;
  std::vector<ClassIndex> index_;  // in the core
  std::vector<ClassIndex> order_;
  Core core_;
};

}  // namespace

base::Result<Core> Core::of(const Problem& problem) {
  const TreeChoice terms = cheapest_terms(problem);
  EGRET_RETURN_IF_ERROR(check_roots(problem, terms.choice));
  return Builder(problem, terms.choice).build();
}

std::size_t Core::candidate_count() const {
  std::size_t count = 0;
  for (const auto& candidates : classes) count += candidates.size();
  return count;
}

bool Core::is_marked(const Candidate& candidate) const {
  return !marked.empty() &&
         std::ranges::any_of(candidate.picks, [&](NodeIndex node) { return marked[node]; });
}

bool Core::has_negative_costs() const {
  return std::ranges::any_of(classes, [](const auto& candidates) {
    return std::ranges::any_of(candidates, [](const Candidate& c) { return c.cost < 0; });
  });
}

// Euclid's algorithm over all costs.
double Core::granularity() const {
  double unit = 0;
  for (const auto& candidates : classes) {
    for (const Candidate& candidate : candidates) {
      double a = std::abs(candidate.cost), b = unit;
      // Above this size a double no longer represents the multiples exactly enough for bounds to be
      // rounded.
      if (a != std::round(a) || a > 1e12) return 0;
      while (a > 0) {
        const double rest = std::fmod(b, a);
        b = a;
        a = rest;
      }
      unit = b;
    }
  }
  return unit;
}

// Rounds a bound up to a multiple of the granularity, because the cost of every answer is one.
double Core::raised(double bound) const {
  const double unit = granularity();
  return unit == 0 ? bound : std::ceil(bound / unit - 1e-6) * unit;
}

// Scales fractional costs by a power of two, which is exact, such that `whole` falls into (2^13,
// 2^14].
double Core::bring_to_scale(double whole) {
  // Solvers compare with absolute tolerances of about 1e-6 to 1e-9. Costs of seconds, which are
  // that small, would count as zero.
  constexpr int kBits = 14;  // of the whole
  bool integers = true;
  for (const auto& candidates : classes) {
    for (const Candidate& candidate : candidates)
      integers = integers && candidate.cost == std::round(candidate.cost);
  }
  if (integers || whole == 0) return 1;
  const double scale = std::exp2(kBits - std::ceil(std::log2(std::abs(whole))));
  for (auto& candidates : classes) {
    for (Candidate& candidate : candidates) candidate.cost *= scale;
  }
  return scale;
}

// The choice in the original problem: the decisions of the reductions, then the nodes of the chosen
// candidates.
std::vector<NodeIndex> Core::lift(const Problem& problem, std::span<const NodeIndex> chosen) const {
  std::vector<NodeIndex> choice = decided;
  for (ClassIndex c = 0; c < classes.size(); ++c) {
    if (chosen[c] == kNoNode) continue;
    for (const NodeIndex node : classes[c][chosen[c]].picks)
      choice[problem.graph.node_class[node]] = node;
  }
  return choice;
}

// The candidate of each class whose nodes `choice` takes, or kNoNode.
std::vector<NodeIndex> Core::left_of(const Problem& problem,
                                     std::span<const NodeIndex> choice) const {
  std::vector<NodeIndex> chosen;
  for (const auto& candidates : classes) {
    const auto found = std::ranges::find_if(candidates, [&](const Candidate& candidate) {
      return std::ranges::all_of(candidate.picks, [&](NodeIndex node) {
        return choice[problem.graph.node_class[node]] == node;
      });
    });
    chosen.push_back(
        found == candidates.end() ? kNoNode : static_cast<NodeIndex>(found - candidates.begin()));
  }
  return chosen;
}

bool CoreAnswer::is_closed() const { return bound >= cost - 1e-9 * std::max(1.0, std::abs(cost)); }

// Restricts a choice to the classes that the required ones reach. The answer is empty if one of
// these has no candidate.
CoreAnswer needed_of(const Core& core, std::span<const NodeIndex> chosen) {
  CoreAnswer answer;
  std::vector<NodeIndex> reached(chosen.size(), kNoNode);
  std::vector<ClassIndex> queue;
  for (ClassIndex c = 0; c < chosen.size(); ++c) {
    if (core.required[c]) queue.push_back(c);
  }
  double cost = 0;
  while (!queue.empty()) {
    const ClassIndex c = queue.back();
    queue.pop_back();
    if (reached[c] != kNoNode) continue;
    if (chosen[c] == kNoNode) return answer;
    reached[c] = chosen[c];
    const Candidate& candidate = core.classes[c][chosen[c]];
    cost += candidate.cost;
    queue.insert(queue.end(), candidate.needs.begin(), candidate.needs.end());
  }
  answer.chosen = std::move(reached);
  answer.cost = cost;
  return answer;
}

// The core as an extraction problem: one node per candidate.
CoreProblem::CoreProblem(const Core& core) {
  for (ClassIndex c = 0; c < core.classes.size(); ++c) {
    for (const Candidate& candidate : core.classes[c]) {
      graph.children.insert(graph.children.end(), candidate.needs.begin(), candidate.needs.end());
      graph.child_begin.push_back(static_cast<ClassIndex>(graph.children.size()));
      graph.node_class.push_back(c);
      graph.node_op.emplace_back(0);
      costs.push_back(candidate.cost);
    }
    graph.class_begin.push_back(static_cast<ClassIndex>(graph.node_op.size()));
    if (core.required[c]) graph.roots.push_back(c);
  }
}

std::vector<NodeIndex> CoreProblem::chosen(const Solution& solution) const {
  std::vector<NodeIndex> chosen = solution.choice;
  for (ClassIndex c = 0; c < chosen.size(); ++c) {
    if (chosen[c] != kNoNode) chosen[c] -= graph.class_begin[c];
  }
  return chosen;
}

std::vector<NodeIndex> CoreProblem::choice(std::span<const NodeIndex> chosen) const {
  std::vector<NodeIndex> choice(chosen.begin(), chosen.end());
  for (ClassIndex c = 0; c < choice.size(); ++c) {
    if (choice[c] != kNoNode) choice[c] += graph.class_begin[c];
  }
  return choice;
}

}  // namespace egret::extract
