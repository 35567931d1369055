// SPDX-License-Identifier: Apache-2.0
#include "egraph/core/view_statistics.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/strong_components.h"

namespace egret::egraph {

using Index = EGraphView::Index;

namespace {

// The number of classes that can contain a term of themselves: those in a strongly connected
// component of several classes, or with themselves as a child.
std::size_t cyclic_classes(const EGraphView& view) {
  std::vector<Index> begin;
  for (const Index node : view.class_begin) begin.push_back(view.child_begin[node]);
  const std::vector<std::uint32_t> component = base::strong_components(begin, view.children);
  std::vector<std::size_t> size(view.class_count());
  for (const std::uint32_t c : component) ++size[c];
  std::size_t cyclic = 0;
  for (Index c = 0; c < view.class_count(); ++c) {
    const auto children = std::span(view.children).subspan(begin[c], begin[c + 1] - begin[c]);
    const bool self = std::find(children.begin(), children.end(), c) != children.end();
    cyclic += size[component[c]] > 1 || self ? 1U : 0U;
  }
  return cyclic;
}

// The classes below the roots, by breadth-first search; all classes if there are no roots.
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
    // One node is chosen per class, independently, so the choices multiply; the logarithm of the
    // product stays in range.
    if (nodes > 0) result.log2_choices += std::log2(static_cast<double>(nodes));
  }
  result.cyclic_classes = cyclic_classes(view);
  return result;
}

}  // namespace egret::egraph
