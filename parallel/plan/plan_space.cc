// SPDX-License-Identifier: Apache-2.0
#include "parallel/plan/plan_space.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <set>

namespace egret::parallel {
namespace {

using Kind = PlacedEGraph::Kind;

constexpr std::size_t kNoValue = std::numeric_limits<std::size_t>::max();
constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

// Groups the placed classes by the value whose placements they are. A leaf begins in any placement
// that it may have; another value begins where an operator produces it. Collectives lead from there
// to all other placements, along the cheapest ways.
PlanSpace::PlanSpace(const PlacedEGraph& placed, const egraph::EGraphView& view,
                     std::span<const double> costs)
    : placed_(placed), view_(view), costs_(costs), value_of_(view.class_count(), kNoValue) {
  std::map<egraph::ClassId, std::size_t> numbers;
  for (Index c = 0; c < view.class_count(); ++c) {
    const Kind kind = placed.meaning(view.node_op[view.class_begin[c]]).kind;
    if (kind == Kind::kValue || kind == Kind::kKeep) continue;
    const egraph::ClassId id = placed.placed(view.class_id[c]).value;
    const auto [known, is_new] = numbers.try_emplace(id, values_.size());
    if (is_new) values_.push_back({.is_leaf = placed.leaf_of(id).valid()});
    Value& value = values_[known->second];
    value_of_[c] = known->second;
    value.classes.push_back(c);
    for (Index node = view.class_begin[c]; node < view.class_begin[c + 1]; ++node) {
      const bool is_choice = placed.meaning(view.node_op[node]).kind == Kind::kOperator;
      if (is_choice && std::isfinite(costs[node])) value.choices.push_back(node);
    }
  }
  for (const Value& value : values_) {
    if (value.is_leaf) {
      std::vector<Index> sources;
      for (const Index c : value.classes) {
        if (place_of(c) != kNone) sources.push_back(c);
      }
      ways_[value.classes.front()] = ways_from(value, sources);
      continue;
    }
    for (const Index choice : value.choices) {
      const Index c = view.node_class[choice];
      if (!ways_.contains(c)) ways_[c] = ways_from(value, std::vector{c});
    }
  }
}

// The node by which a leaf is there; kNone: it is not, or may not be.
PlanSpace::Index PlanSpace::place_of(Index view_class) const {
  for (Index node = view_.class_begin[view_class]; node < view_.class_begin[view_class + 1];
       ++node) {
    const bool is_there = placed_.meaning(view_.node_op[node]).kind == Kind::kPlace;
    if (is_there && std::isfinite(costs_[node])) return node;
  }
  return kNone;
}

// Dijkstra's algorithm over the collectives of one value, from its produced placements.
PlanSpace::Ways PlanSpace::ways_from(const Value& value, std::span<const Index> sources) const {
  std::multimap<Index, Index> leaving;  // collectives by what they read
  for (const Index c : value.classes) {
    for (Index node = view_.class_begin[c]; node < view_.class_begin[c + 1]; ++node) {
      if (placed_.meaning(view_.node_op[node]).kind == Kind::kCollective)
        leaving.emplace(view_.children_of(node).front(), node);
    }
  }
  struct Arrival {
    double cost;
    Index at, by;
    bool operator>(const Arrival& other) const { return cost > other.cost; }
  };
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> queue;
  for (const Index source : sources) queue.push({0, source, kNone});
  Ways ways;
  while (!queue.empty()) {
    const Arrival arrival = queue.top();
    queue.pop();
    // The first arrival is the cheapest. It also records the last collective of the path, so the
    // paths form a tree.
    if (!ways.try_emplace(arrival.at, arrival.by).second) continue;
    const auto [first, last] = leaving.equal_range(arrival.at);
    for (auto edge = first; edge != last; ++edge) {
      const double cost = arrival.cost + costs_[edge->second];
      if (std::isfinite(cost)) queue.push({cost, view_.node_class[edge->second], edge->second});
    }
  }
  return ways;
}

// A start for the searches: each operator computes copies from copies, where that is possible.
std::vector<PlanSpace::Index> PlanSpace::copies() const {
  const auto is_copy = [&](Index c) {
    return placed_.placed(view_.class_id[c]).placement.is_copy();
  };
  std::vector<Index> choice;
  for (const Value& value : values_) {
    choice.push_back(value.choices.empty() ? kNone : value.choices.front());
    for (const Index node : value.choices) {
      if (is_copy(view_.node_class[node]) && std::ranges::all_of(view_.children_of(node), is_copy))
        choice.back() = node;
    }
  }
  return choice;
}

const PlanSpace::Ways& PlanSpace::ways_of(std::size_t value, Index choice) const {
  return ways_.at(values_[value].is_leaf ? values_[value].classes.front()
                                         : view_.node_class[choice]);
}

// The cost of a value: its operator, and each collective on the paths to the wanted placements
// once.
PlanSpace::Step PlanSpace::step(std::size_t number, Index choice,
                                std::span<const Index> wanted) const {
  const Value& value = values_[number];
  const Ways& ways = ways_of(number, choice);
  Step result;
  std::set<Index> paid;
  for (Index at : wanted) {
    while (true) {
      const auto way = ways.find(at);
      if (way == ways.end()) return {.cost = kNever};
      // The rest of the path was paid by another request: paths form a tree.
      if (way->second == kNone || !paid.insert(way->second).second) break;
      result.cost += costs_[way->second];
      at = view_.children_of(way->second).front();
    }
  }
  if (value.is_leaf) return result;
  result.cost += costs_[choice];
  const auto children = view_.children_of(choice);
  result.wanted.assign(children.begin(), children.end());
  return result;
}

// Visits values in topological order, consumers first: all requests for a value are then known. The
// first traversal counts the readers of each value. The second one visits a value when all its
// readers have been visited (Kahn's algorithm).
template <typename Each>
double PlanSpace::visit(std::span<const Index> choice, const Each& each) const {
  std::vector<int> readers(values_.size(), 0);
  std::vector<char> seen(values_.size(), 0);
  std::vector<std::size_t> stack;
  const auto reach = [&](std::size_t value) {
    if (seen[value] != 0) return;
    seen[value] = 1;
    stack.push_back(value);
  };
  std::vector<std::vector<Index>> wanted(values_.size());
  for (const Index root : view_.roots) {
    reach(value_of_[root]);
    wanted[value_of_[root]].push_back(root);
  }
  while (!stack.empty()) {
    const std::size_t value = stack.back();
    stack.pop_back();
    if (values_[value].is_leaf) continue;
    for (const Index child : view_.children_of(choice[value])) {
      ++readers[value_of_[child]];
      reach(value_of_[child]);
    }
  }
  for (std::size_t value = 0; value < values_.size(); ++value) {
    if (seen[value] != 0 && readers[value] == 0) stack.push_back(value);
  }
  double total = 0;
  std::ptrdiff_t priced = 0;
  while (!stack.empty()) {
    ++priced;
    const std::size_t value = stack.back();
    stack.pop_back();
    total += each(value, wanted[value]);
    if (!std::isfinite(total)) return total;
    if (values_[value].is_leaf) continue;
    for (const Index child : view_.children_of(choice[value])) {
      wanted[value_of_[child]].push_back(child);
      if (--readers[value_of_[child]] == 0) stack.push_back(value_of_[child]);
    }
  }
  // Values of a cycle wait for each other. Such a choice is no plan.
  const bool acyclic = priced == std::ranges::count(seen, 1);
  return acyclic ? total : std::numeric_limits<double>::infinity();
}

double PlanSpace::cost(std::span<const Index> choice) const {
  return visit(choice, [&](std::size_t value, std::span<const Index> wanted) {
    return step(value, choice[value], wanted).cost;
  });
}

std::vector<PlanSpace::Index> PlanSpace::nodes(std::span<const Index> choice) const {
  std::vector<Index> chosen(view_.class_count(), kNone);
  const double cost = visit(choice, [&](std::size_t value, std::span<const Index> wanted) {
    const Ways& ways = ways_of(value, choice[value]);
    for (Index at : wanted) {
      auto way = ways.find(at);
      for (; way != ways.end() && way->second != kNone; way = ways.find(at)) {
        chosen[at] = way->second;
        at = view_.children_of(way->second).front();
      }
      if (way == ways.end()) return kNever;
      chosen[at] = values_[value].is_leaf ? place_of(at) : choice[value];
      if (!values_[value].is_leaf) continue;
      // A leaf is placed from the value itself, whose class has the one node.
      for (const Index whole : view_.children_of(chosen[at]))
        chosen[whole] = view_.class_begin[whole];
    }
    return 0.0;
  });
  return std::isfinite(cost) ? chosen : std::vector<Index>();
}

}  // namespace egret::parallel
