// SPDX-License-Identifier: Apache-2.0
#include "egraph/view_statistics.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace egret::egraph {

using Index = EGraphView::Index;

namespace {

// Strongly connected components of the classes (Tarjan 1972), with a stack of its own.
class Components {
 public:
  explicit Components(const EGraphView& view)
      : view_(view),
        number_(view.class_count()),
        low_(view.class_count()),
        on_stack_(view.class_count()) {}

  // Classes in a component of several, or with themselves among their children.
  std::size_t cyclic() {
    for (Index c = 0; c < view_.class_count(); ++c) {
      if (number_[c] == 0) walk(c);
    }
    return cyclic_;
  }

 private:
  struct Frame {
    Index in_class;
    Index child;  // next place in view.children
    bool self = false;
  };

  Index first_child(Index c) const { return view_.child_begin[view_.class_begin[c]]; }
  Index end_child(Index c) const { return view_.child_begin[view_.class_begin[c + 1]]; }

  void enter(Index c) {
    number_[c] = low_[c] = ++count_;
    stack_.push_back(c);
    on_stack_[c] = true;
    frames_.push_back({c, first_child(c)});
  }

  void walk(Index start) {
    enter(start);
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      const Index c = frame.in_class;
      if (frame.child < end_child(c)) {
        const Index child = view_.children[frame.child++];
        frame.self = frame.self || child == c;
        if (number_[child] == 0) {
          enter(child);
        } else if (on_stack_[child]) {
          low_[c] = std::min(low_[c], number_[child]);
        }
        continue;
      }
      const bool self = frame.self;
      frames_.pop_back();
      if (!frames_.empty()) {
        Index& above = low_[frames_.back().in_class];
        above = std::min(above, low_[c]);
      }
      if (low_[c] == number_[c]) close(c, self);
    }
  }

  void close(Index c, bool self) {
    std::size_t size = 0;
    Index top = c;
    do {
      top = stack_.back();
      stack_.pop_back();
      on_stack_[top] = false;
      ++size;
    } while (top != c);
    if (size > 1 || self) cyclic_ += size;
  }

  const EGraphView& view_;
  std::vector<Index> number_;  // in order of entry, from 1; 0: not entered
  std::vector<Index> low_;
  std::vector<bool> on_stack_;
  std::vector<Index> stack_;
  std::vector<Frame> frames_;
  Index count_ = 0;
  std::size_t cyclic_ = 0;
};

std::vector<bool> reachable(const EGraphView& view) {
  std::vector<bool> seen(view.class_count(), view.roots.empty());
  std::vector<Index> queue;
  const auto visit = [&](Index c) {
    if (seen[c]) return;
    seen[c] = true;
    queue.push_back(c);
  };
  for (const Index root : view.roots) visit(root);
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const Index c = queue[next];
    for (Index node = view.class_begin[c]; node < view.class_begin[c + 1]; ++node) {
      for (const Index child : view.children_of(node)) visit(child);
    }
  }
  return seen;
}

}  // namespace

ViewStatistics statistics(const EGraphView& view, const OpTable& ops) {
  ViewStatistics result;
  result.nodes = view.node_count();
  result.classes = view.class_count();
  result.roots = view.roots.size();
  result.children = view.children.size();
  std::map<std::string, std::size_t> by_text;
  std::vector<std::size_t> by_op(ops.op_count());
  for (Index node = 0; node < view.node_count(); ++node) {
    const std::size_t arity = view.children_of(node).size();
    result.leaves += arity == 0 ? 1U : 0U;
    result.largest_arity = std::max(result.largest_arity, arity);
    ++by_op[view.node_op[node].index()];
  }
  for (std::size_t op = 0; op < by_op.size(); ++op) {
    if (by_op[op] > 0) by_text[std::string(ops.name(OpId(op)))] += by_op[op];
  }
  for (const auto& [text, nodes] : by_text) result.operators.push_back({text, nodes});
  std::stable_sort(result.operators.begin(), result.operators.end(),
                   [](const auto& a, const auto& b) { return a.nodes > b.nodes; });
  const std::vector<bool> reached = reachable(view);
  for (std::size_t c = 0; c < view.class_count(); ++c) {
    const std::size_t nodes = view.class_begin[c + 1] - view.class_begin[c];
    result.largest_class = std::max(result.largest_class, nodes);
    if (!reached[c]) continue;
    ++result.reachable_classes;
    result.reachable_nodes += nodes;
    if (nodes > 0) result.log2_choices += std::log2(static_cast<double>(nodes));
  }
  result.cyclic_classes = Components(view).cyclic();
  return result;
}

}  // namespace egret::egraph
