// SPDX-License-Identifier: Apache-2.0
#include "egraph/core/delta.h"

#include <algorithm>

namespace egret::egraph {

std::optional<Delta> Delta::since(const EGraph& egraph, const Sighting& seen) {
  const auto changes = egraph.nodes_since(seen.epoch);
  if (!changes) return {};
  Delta delta(egraph, seen);
  delta.fresh_ = changes->fresh;
  delta.mark(changes->moved);
  return delta;
}

// Collects the distinct visible moved nodes and groups them by operator. The bitmap removes
// duplicates; a counting sort by operator keeps the ids ascending within each operator.
void Delta::mark(std::span<const NodeId> moved) {
  for (const NodeId node : moved) {
    if (node >= fresh_ || !egraph_->visible(node)) continue;
    if (marks_.empty()) marks_.resize(fresh_.index() / 64 + 1);
    std::uint64_t& word = marks_[node.index() / 64];
    const std::uint64_t bit = std::uint64_t{1} << (node.index() % 64);
    if ((word & bit) != 0) continue;
    word |= bit;
    moved_.push_back(node);
  }
  if (moved_.empty()) return;
  // A counting sort by operator. It is stable, so the ids stay ascending.
  std::sort(moved_.begin(), moved_.end());
  op_begin_.resize(egraph_->ops().op_count() + 1);
  for (const NodeId node : moved_) ++op_begin_[egraph_->op(node).index() + 1];
  for (std::size_t op = 1; op < op_begin_.size(); ++op) op_begin_[op] += op_begin_[op - 1];
  std::vector<std::uint32_t> next(op_begin_.begin(), op_begin_.end() - 1);
  std::vector<NodeId> by_op(moved_.size());
  for (const NodeId node : moved_) by_op[next[egraph_->op(node).index()]++] = node;
  moved_ = std::move(by_op);
}

std::span<const NodeId> Delta::moved(OpId op) const {
  if (op.index() + 1 >= op_begin_.size()) return {};
  const std::uint32_t begin = op_begin_[op.index()];
  return std::span(moved_).subspan(begin, op_begin_[op.index() + 1] - begin);
}

// Node ids grow in order of creation, so the new nodes are the tail of the operator's sorted list.
std::span<const NodeId> Delta::fresh(OpId op) const {
  const auto all = egraph_->nodes_with(op);
  const auto begin = std::lower_bound(all.begin(), all.end(), fresh_);
  return {begin, all.end()};
}

}  // namespace egret::egraph
