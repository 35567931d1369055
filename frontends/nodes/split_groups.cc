// SPDX-License-Identifier: Apache-2.0
#include "frontends/nodes/split_groups.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ir/core/symbolic_scope.h"
#include "ir/graph/operator.h"

namespace egret::frontends {
namespace {

// Orders the pieces side by side from 0 to the end of the whole. False: they do not lie so.
bool put_in_order(const ir::Graph& graph, SplitGroup& group) {
  const ir::Index whole = graph.node(group.whole).type.dims[static_cast<std::size_t>(group.axis)];
  const auto key_of = [](ir::Index start) {
    return std::pair(start.node(), start.is_constant() ? start.constant() : 0);
  };
  std::map<std::pair<const ir::ExprNode*, std::int64_t>, ir::NodeId> by_start;
  for (const ir::NodeId id : group.pieces)
    by_start.emplace(key_of(graph.node(id).attrs.size("start")), id);
  ir::Index next = 0;
  std::vector<ir::NodeId> ordered;
  for (std::size_t i = 0; i < group.pieces.size(); ++i) {
    const auto piece = by_start.find(key_of(next));
    if (piece == by_start.end()) return false;
    const ir::Index size = graph.node(piece->second).attrs.size("size");
    if (size.is_constant() && size.constant() <= 0) return false;
    ordered.push_back(piece->second);
    group.sizes.push_back(size);
    next = next + size;
  }
  group.pieces = std::move(ordered);
  return ir::decided(next == whole).value_or(false);
}

}  // namespace

bool SplitGroup::are_numbers() const { return std::ranges::all_of(sizes, &ir::Index::is_constant); }

bool SplitGroup::are_equal() const {
  return std::ranges::all_of(sizes,
                             [&](const ir::Index& size) { return size.same(sizes.front()); });
}

std::vector<SplitGroup> find_splits(const ir::Graph& graph, std::span<const ir::NodeId> live,
                                    bool open_sizes) {
  const ir::Operator& slice = ir::get_operator("slice");
  std::map<std::pair<ir::NodeId, std::int64_t>, std::size_t> index;
  std::vector<SplitGroup> groups;
  for (const ir::NodeId id : live) {
    const ir::Node& node = graph.node(id);
    if (node.kind != ir::NodeKind::kOperator || node.op != &slice) continue;
    if (!node.attrs.size("step").same(1)) continue;
    const std::int64_t axis = node.attrs.integer("axis");
    const auto [entry, is_new] = index.try_emplace({node.inputs[0], axis}, groups.size());
    if (is_new) groups.push_back({.whole = node.inputs[0], .axis = axis});
    groups[entry->second].pieces.push_back(id);
  }
  std::erase_if(groups, [&](SplitGroup& group) {
    return group.pieces.size() < 2 || !put_in_order(graph, group) ||
           (!open_sizes && !group.are_numbers() && !group.are_equal());
  });
  return groups;
}

}  // namespace egret::frontends
