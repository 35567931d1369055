// SPDX-License-Identifier: Apache-2.0
// The paths that a rule takes over symbols, as a tree: inner nodes are decisions
// (ir/core/symbolic_scope.h), edges their outcomes, leaves the ends of paths.
//
// Runs add paths. A branch is open while no run took it. All numbers of one kind follow exactly one
// path, so when every open branch was shown to have no numbers, the leaves cover all numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "ir/core/symbolic_scope.h"

namespace egret::rules {

class DecisionTree {
 public:
  // Adds the path of a run with these numbers. False, and nothing is added, if another path
  // continues here with a different decision: then decisions do not determine the path.
  bool add(std::span<const ir::Decision> path, const ir::SymbolValues& numbers);

  struct Branch {
    std::size_t node;               // where it leaves the tree
    std::vector<ir::Guard> guards;  // what its numbers satisfy; the last leaves the tree
    const ir::SymbolValues* near;   // numbers of a run that came to the node; lives as the tree
  };
  // A branch that no run took and that was not closed, the latest first.
  std::optional<Branch> open_branch();
  // No numbers follow the open branch at the node.
  void close(std::size_t node) { nodes_[node].closed = true; }
  // It is not known whether numbers follow it. The tree covers no more than the other branches.
  void give_up(std::size_t node) {
    nodes_[node].closed = true;
    gaps_.push_back(node);
  }

  std::size_t leaves() const { return runs_.size(); }
  // The conditions of the branches given up.
  std::vector<std::vector<ir::Guard>> gaps() const;

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  struct Node {
    ir::Decision decision{};  // its outcome is not used; on == nullptr: a leaf
    std::size_t run = 0;      // one that came here
    std::size_t parent = kNone;
    std::int64_t outcome = 0;                    // of the parent, that leads here
    std::map<std::int64_t, std::size_t> next{};  // by outcome
    bool closed = false;                         // no other outcome has numbers
  };

  bool is_open(const Node& node) const;
  std::vector<ir::Guard> guards_of(std::size_t node) const;

  std::vector<Node> nodes_;
  std::vector<ir::SymbolValues> runs_;
  std::vector<std::size_t> unfinished_;
  std::vector<std::size_t> gaps_;
};

}  // namespace egret::rules
