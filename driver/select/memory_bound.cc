// SPDX-License-Identifier: Apache-2.0
#include "driver/select/memory_bound.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

#include "driver/prices/node_query.h"
#include "extract/core/parents.h"
#include "ir/nest/work.h"

namespace egret::driver {
namespace {

using Index = egraph::EGraphView::Index;

constexpr std::int64_t kInfinite = std::numeric_limits<std::int64_t>::max();

// The bytes that every plan must hold while it runs a node: its largest operand and its result, for
// nodes that the backend computes as kernels of their own. All approximations lower the bound.
class Holding {
 public:
  Holding(const rules::TensorEGraph& tensors, const egraph::EGraphView& view,
          const backends::Backend& backend)
      : tensors_(tensors), view_(view), backend_(backend) {}

  std::vector<std::int64_t> run() {
    look_at_nodes();
    settle();
    for (const Index root : view_.roots) largest_output_ = std::max(largest_output_, bytes(root));
    std::vector<std::int64_t> held(view_.node_count(), 0);
    for (Index node = 0; node < view_.node_count(); ++node) {
      if (!apart_[node]) continue;
      const auto children = view_.children_of(node).first(2);
      std::int64_t input = 0;
      for (const Index child : children) input = std::max(input, in_arena(child));
      held[node] = input + in_arena(view_.node_class[node]);
    }
    return held;
  }

 private:
  std::int64_t bytes(Index c) const { return tensors_.type(view_.class_id[c]).bytes(); }
  // What may lie where an output of the graph does is left out.
  std::int64_t in_arena(Index c) const { return stored_[c] > largest_output_ ? stored_[c] : 0; }

  // For each node: whether it only moves elements, and whether the backend computes it apart from
  // others. A class with a free node holds nothing.
  void look_at_nodes() {
    moves_.resize(view_.node_count(), false);
    apart_.resize(view_.node_count(), false);
    for (Index c = 0; c < view_.class_count(); ++c)
      stored_.push_back(tensors_.is_constant(view_.class_id[c]) ? 0 : bytes(c));
    for (Index node = 0; node < view_.node_count(); ++node) {
      const NodeQuery query(tensors_, view_, node);
      if (query.free()) {
        stored_[view_.node_class[node]] = 0;
        continue;
      }
      const cost::Query& of = query.query();
      const auto work = ir::work_of(*of.op, *of.attrs, of.inputs);
      moves_[node] = !work.ok() || work->flops == 0;
      apart_[node] = of.inputs.size() >= 2 && backend_.computes_apart(*of.op);
    }
  }

  // Lowers stored_ until what moves values holds no more than these do.
  // A worklist to the least fixed point. A value that only moves elements may be a view of its
  // operands, so its class holds at most their bytes. Values only decrease and are bounded by 0.
  void settle() {
    const extract::Parents parents(view_);
    std::vector<Index> queue;
    for (Index c = 0; c < view_.class_count(); ++c) queue.push_back(c);
    while (!queue.empty()) {
      const Index changed = queue.back();
      queue.pop_back();
      for (const Index node : parents.of(changed)) {
        if (!moves_[node]) continue;
        std::int64_t sum = 0;
        for (const Index child : view_.children_of(node)) sum += stored_[child];
        const Index c = view_.node_class[node];
        if (sum >= stored_[c]) continue;
        stored_[c] = sum;
        queue.push_back(c);
      }
    }
  }

  const rules::TensorEGraph& tensors_;
  const egraph::EGraphView& view_;
  const backends::Backend& backend_;
  std::vector<bool> moves_;           // by node: it computes nothing
  std::vector<bool> apart_;           // by node
  std::vector<std::int64_t> stored_;  // by class: bytes that every term of it takes
  std::int64_t largest_output_ = 0;
};

}  // namespace

std::vector<std::int64_t> held_bytes(const rules::TensorEGraph& tensors,
                                     const egraph::EGraphView& view,
                                     const backends::Backend& backend) {
  return Holding(tensors, view, backend).run();
}

// Knuth 1977, with a maximum for a sum.
// The least peak over all terms of the roots, where the cost of a term is the maximum over its
// nodes. Classes are settled in ascending order as in Dijkstra's algorithm, since a maximum never
// decreases upward. O((nodes + children) log classes).
std::int64_t least_arena(const egraph::EGraphView& view, const std::vector<std::int64_t>& held) {
  const extract::Parents parents(view);
  std::vector<std::int64_t> least(view.class_count(), kInfinite);
  std::vector<std::int64_t> largest = held;
  std::vector<std::size_t> missing(view.node_count());
  using Entry = std::pair<std::int64_t, Index>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  const auto offer = [&](Index node) {
    const Index c = view.node_class[node];
    if (largest[node] >= least[c]) return;
    least[c] = largest[node];
    queue.push({least[c], c});
  };
  for (Index node = 0; node < view.node_count(); ++node) {
    missing[node] = view.children_of(node).size();
    if (missing[node] == 0) offer(node);
  }
  while (!queue.empty()) {
    const auto [bytes, c] = queue.top();
    queue.pop();
    if (bytes > least[c]) continue;
    for (const Index node : parents.of(c)) {
      largest[node] = std::max(largest[node], bytes);
      if (--missing[node] == 0) offer(node);
    }
  }
  std::int64_t all = 0;
  for (const Index root : view.roots) all = std::max(all, least[root]);
  return all;
}

}  // namespace egret::driver
