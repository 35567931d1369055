// SPDX-License-Identifier: Apache-2.0
// What changed in an e-graph since a rule last looked at it, by operator: the input of incremental
// plans (egraph/search/join_plan.h).
//
// A node is new when it was made since, or when its class or a child has another id since. A set of
// atoms that matches nodes none of which is new matched the very same nodes before. So every match
// that was not there has a new node, or a variable that no atom binds and that stands for a class
// made since.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "egraph/core/egraph.h"
#include "egraph/core/ids.h"

namespace egret::egraph {

// A state of an e-graph that someone has seen.
struct Sighting {
  Epoch epoch = 0;
  std::size_t ids = 0;  // EGraph::id_count() then

  static Sighting now(const EGraph& egraph) { return {egraph.epoch(), egraph.id_count()}; }
  friend bool operator==(const Sighting&, const Sighting&) = default;
};

class Delta {
 public:
  // Nothing when the e-graph does not remember that far back. O(changes).
  static std::optional<Delta> since(const EGraph& egraph, const Sighting& seen);

  bool has(NodeId node) const {
    if (node >= fresh_) return true;
    const std::size_t word = node.index() / 64;
    return word < marks_.size() && ((marks_[word] >> (node.index() % 64)) & 1) != 0;
  }
  // Whether the class is one that no canonical class was before.
  bool has(ClassId id) const { return id.index() >= seen_.ids; }

  const Sighting& seen() const { return seen_; }
  bool empty() const {
    return moved_.empty() && fresh_ == egraph_->next_node() && seen_.ids == egraph_->id_count();
  }
  // The visible new nodes of an operator: those that were there but changed, and those made since.
  std::span<const NodeId> moved(OpId op) const;
  std::span<const NodeId> fresh(OpId op) const;
  std::size_t size(OpId op) const { return moved(op).size() + fresh(op).size(); }

 private:
  Delta(const EGraph& egraph, const Sighting& seen) : egraph_(&egraph), seen_(seen) {}
  void mark(std::span<const NodeId> moved);

  const EGraph* egraph_;
  Sighting seen_;
  NodeId fresh_;
  std::vector<std::uint64_t> marks_;     // a bit for each node below fresh_ that changed
  std::vector<NodeId> moved_;            // by operator, ascending within one
  std::vector<std::uint32_t> op_begin_;  // where each operator's begin; empty when moved_ is
};

}  // namespace egret::egraph
