// SPDX-License-Identifier: Apache-2.0
#include "rules/proving/decision_tree.h"

#include <algorithm>

namespace egret::rules {

bool DecisionTree::add(std::span<const ir::Decision> path, const ir::SymbolValues& numbers) {
  if (nodes_.empty()) {
    nodes_.emplace_back();
    if (path.empty()) {
      runs_.push_back(numbers);
      return true;
    }
    nodes_[0].decision = path[0];
    unfinished_.push_back(0);
  }
  // Walk along known edges as far as they go; compare before anything is added.
  std::size_t at = 0;
  std::size_t step = 0;
  for (;; ++step) {
    const Node& node = nodes_[at];
    const bool ends = step == path.size();
    if (ends != (node.decision.on == nullptr)) return false;
    if (ends) return true;  // a known path
    if (node.decision.on != path[step].on || node.decision.is_value != path[step].is_value)
      return false;
    const auto next = node.next.find(path[step].outcome);
    if (next == node.next.end()) break;
    at = next->second;
  }
  runs_.push_back(numbers);
  for (; step < path.size(); ++step) {
    const std::size_t next = nodes_.size();
    Node fresh{.run = runs_.size() - 1, .parent = at, .outcome = path[step].outcome};
    if (step + 1 < path.size()) fresh.decision = path[step + 1];
    nodes_[at].next.emplace(path[step].outcome, next);
    nodes_.push_back(std::move(fresh));
    if (step + 1 < path.size()) unfinished_.push_back(next);
    at = next;
  }
  return true;
}

bool DecisionTree::is_open(const Node& node) const {
  if (node.closed || node.decision.on == nullptr) return false;
  return node.decision.is_value || node.next.size() < 2;
}

std::vector<ir::Guard> DecisionTree::guards_of(std::size_t node) const {
  std::vector<ir::Guard> guards;
  for (const auto& [outcome, next] : nodes_[node].next) {
    ir::Decision taken = nodes_[node].decision;
    taken.outcome = outcome;
    guards.push_back(!taken.guard());
  }
  for (std::size_t at = node; nodes_[at].parent != kNone; at = nodes_[at].parent) {
    ir::Decision before = nodes_[nodes_[at].parent].decision;
    before.outcome = nodes_[at].outcome;
    guards.push_back(before.guard());
  }
  std::ranges::reverse(guards);
  return guards;
}

std::optional<DecisionTree::Branch> DecisionTree::open_branch() {
  while (!unfinished_.empty()) {
    const std::size_t node = unfinished_.back();
    if (is_open(nodes_[node])) return Branch{node, guards_of(node), &runs_[nodes_[node].run]};
    unfinished_.pop_back();
  }
  return std::nullopt;
}

std::vector<std::vector<ir::Guard>> DecisionTree::gaps() const {
  std::vector<std::vector<ir::Guard>> result;
  for (const std::size_t node : gaps_) result.push_back(guards_of(node));
  return result;
}

}  // namespace egret::rules
