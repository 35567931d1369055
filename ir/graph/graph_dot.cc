// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/graph_dot.h"

#include "ir/graph/text_cursor.h"

namespace egret::ir {
namespace {

std::string label_of(const Node& node) {
  switch (node.kind) {
    case NodeKind::kInput: return node.name;
    case NodeKind::kConstant: return node.name.empty() ? "constant" : node.name;
    case NodeKind::kOperator: break;
  }
  std::string label = node.op->name();
  for (const auto& [name, value] : node.attrs.entries()) {
    label += "\n" + name + " = " + to_string(value);
  }
  return label;
}

std::string_view shape_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::kInput: return "ellipse";
    case NodeKind::kConstant: return "note";
    case NodeKind::kOperator: return "box";
  }
  return "box";
}

}  // namespace

std::string to_dot(const Graph& graph, const DotOptions& options) {
  const auto shown = [&](NodeId id) {
    return options.constants || graph.node(id).kind != NodeKind::kConstant;
  };
  std::string text = "digraph " + quoted_text(graph.name.empty() ? "graph" : graph.name) +
                     " {\n  node [fontname=\"sans-serif\" fontsize=10];\n"
                     "  edge [fontname=\"sans-serif\" fontsize=8];\n";
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(NodeId(i));
    if (!shown(NodeId(i))) continue;
    const std::string id = "n" + std::to_string(i);
    text += "  " + id + " [shape=" + std::string(shape_of(node.kind)) +
            " label=" + quoted_text(label_of(node)) + "];\n";
    for (const NodeId input : node.inputs) {
      if (!shown(input)) continue;
      text += "  n" + std::to_string(input.index()) + " -> " + id +
              " [label=" + quoted_text(to_string(graph.node(input).type)) + "];\n";
    }
  }
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    const auto& out = graph.outputs()[i];
    const std::string id = "out" + std::to_string(i);
    text += "  " + id + " [shape=ellipse label=" + quoted_text(out.name) + "];\n";
    if (!shown(out.node)) continue;
    text += "  n" + std::to_string(out.node.index()) + " -> " + id +
            " [label=" + quoted_text(to_string(graph.node(out.node).type)) + "];\n";
  }
  return text + "}\n";
}

}  // namespace egret::ir
