// SPDX-License-Identifier: Apache-2.0
#include "frontends/nodes/split_groups.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ir/graph/operator.h"

namespace egret::frontends {
namespace {

std::int64_t start_of(const ir::Node& node) { return node.attrs.integer("start"); }

// Whether the pieces, ordered by start, lie side by side from 0 to the end of the whole.
bool covers(const ir::Graph& graph, const SplitGroup& group) {
  const ir::Index& size = graph.node(group.whole).type.dims[static_cast<std::size_t>(group.axis)];
  if (!size.is_constant()) return false;
  std::int64_t next = 0;
  for (std::size_t i = 0; i < group.pieces.size(); ++i) {
    if (start_of(graph.node(group.pieces[i])) != next || group.sizes[i] <= 0) return false;
    next += group.sizes[i];
  }
  return next == size.constant();
}

}  // namespace

std::vector<SplitGroup> find_splits(const ir::Graph& graph, std::span<const ir::NodeId> live) {
  const ir::Operator& slice = ir::get_operator("slice");
  std::map<std::pair<ir::NodeId, std::int64_t>, std::size_t> index;
  std::vector<SplitGroup> groups;
  for (const ir::NodeId id : live) {
    const ir::Node& node = graph.node(id);
    if (node.kind != ir::NodeKind::kOperator || node.op != &slice) continue;
    if (node.attrs.integer("step") != 1) continue;
    const std::int64_t axis = node.attrs.integer("axis");
    const auto [entry, is_new] = index.try_emplace({node.inputs[0], axis}, groups.size());
    if (is_new) groups.push_back({.whole = node.inputs[0], .axis = axis});
    groups[entry->second].pieces.push_back(id);
  }
  for (SplitGroup& group : groups) {
    std::ranges::stable_sort(group.pieces, {},
                             [&](ir::NodeId id) { return start_of(graph.node(id)); });
    for (const ir::NodeId id : group.pieces)
      group.sizes.push_back(graph.node(id).attrs.integer("size"));
  }
  std::erase_if(groups, [&](const SplitGroup& group) {
    return group.pieces.size() < 2 || !covers(graph, group);
  });
  return groups;
}

}  // namespace egret::frontends
