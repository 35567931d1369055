// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/plan/reader_layout.h"

#include <algorithm>

namespace egret::backends::cpu {

std::optional<Layout> layout_of_any_transpose(const ir::Graph& graph, ir::NodeId value) {
  ir::NodeId reader;
  for (std::size_t i = value.index() + 1; i < graph.size(); ++i) {
    if (std::ranges::count(graph.node(ir::NodeId(i)).inputs, value) == 0) continue;
    if (reader.valid()) return std::nullopt;
    reader = ir::NodeId(i);
  }
  const auto is_output = [&](const auto& output) { return output.node == value; };
  if (!reader.valid() || std::ranges::any_of(graph.outputs(), is_output)) return std::nullopt;
  const ir::Node& node = graph.node(reader);
  if (node.kind != ir::NodeKind::kOperator || node.op->name() != "transpose") return std::nullopt;
  const ir::Integers perm = node.attrs.integers("perm");
  const Layout wanted = row_major(node.type.shape());
  Layout layout = wanted;
  for (std::size_t i = 0; i < perm.size(); ++i)
    layout.strides[static_cast<std::size_t>(perm[i])] = wanted.strides[i];
  return layout;
}

std::optional<Layout> layout_of_transpose(const ir::Graph& graph, ir::NodeId value) {
  const auto layout = layout_of_any_transpose(graph, value);
  return layout && !layout->strides.empty() && layout->strides.back() == 1 ? layout : std::nullopt;
}

}  // namespace egret::backends::cpu
