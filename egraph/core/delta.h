// SPDX-License-Identifier: Apache-2.0
// The changes in an e-graph since a rule last looked at it, by operator. Incremental join plans
// (egraph/search/join_plan.h) take it as input.
//
// A node is new if it was made since then, or if its class or a child has another id since then. If
// no node of a match is new, the same match existed before. Hence every new match contains a new
// node, or a variable bound by no atom that stands for a class made since then.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "egraph/core/egraph.h"
#include "egraph/core/ids.h"

namespace egret::egraph {

// A state of an e-graph that a client has seen.
struct Sighting {
  Epoch epoch = 0;
  std::size_t ids = 0;  // EGraph::id_count() then

  static Sighting now(const EGraph& egraph) { return {egraph.epoch(), egraph.id_count()}; }
  friend bool operator==(const Sighting&, const Sighting&) = default;
};

class Delta {
 public:
  // Empty if the e-graph's change record does not reach back that far. O(changes).
  static std::optional<Delta> since(const EGraph& egraph, const Sighting& seen);

  bool has(NodeId node) const {
    if (node >= fresh_) return true;
    const std::size_t word = node.index() / 64;
    return word < marks_.size() && ((marks_[word] >> (node.index() % 64)) & 1) != 0;
  }
  // Whether the class id did not exist at the sighting.
  bool has(ClassId id) const { return id.index() >= seen_.ids; }

  const Sighting& seen() const { return seen_; }
  bool empty() const {
    return moved_.empty() && fresh_ == egraph_->next_node() && seen_.ids == egraph_->id_count();
  }
  // The visible new nodes of an operator. moved() gives those that existed and changed; fresh()
  // those made since.
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
  std::vector<NodeId> moved_;            // by operator, ascending ids within one
  std::vector<std::uint32_t> op_begin_;  // where each operator's nodes begin; empty if moved_ is
};

}  // namespace egret::egraph
