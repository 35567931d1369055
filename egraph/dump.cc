// SPDX-License-Identifier: Apache-2.0
#include "egraph/dump.h"

#include <algorithm>

#include "base/check.h"

namespace egret::egraph {
namespace {

std::string number(std::size_t n) { return std::to_string(n); }

std::string class_name(ClassId id) { return std::string("c").append(number(id.index())); }

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

// The first classes, and in words what is not among them ("" when all are).
struct Selection {
  std::vector<ClassId> shown;
  std::string hidden;
};

Selection select(const EGraph& egraph, std::size_t max_classes) {
  EGRET_CHECK(egraph.clean(), "dump before rebuild()");
  Selection selection{egraph.classes(), {}};
  if (selection.shown.size() <= max_classes) return selection;
  std::size_t nodes = 0;
  for (std::size_t i = max_classes; i < selection.shown.size(); ++i) {
    nodes += egraph.nodes(selection.shown[i]).size();
  }
  selection.hidden = number(selection.shown.size() - max_classes) + " classes with " +
                     number(nodes) + " nodes not shown";
  selection.shown.resize(max_classes);
  return selection;
}

}  // namespace

std::string dump(const EGraph& egraph, std::size_t max_classes) {
  const Selection selection = select(egraph, max_classes);
  std::string out;
  for (const ClassId id : selection.shown) {
    out += class_name(id);
    char separator = ':';
    for (const NodeId node : egraph.nodes(id)) {
      if (separator == '|') out += ' ';
      out += separator;
      out.append(" ").append(egraph.ops().text(egraph.op(node)));
      for (const ClassId child : egraph.children(node)) out.append(" ").append(class_name(child));
      separator = '|';
    }
    out += '\n';
  }
  if (!selection.hidden.empty()) out.append("... ").append(selection.hidden).append("\n");
  return out;
}

std::string dump_dot(const EGraph& egraph, std::size_t max_classes) {
  const Selection selection = select(egraph, max_classes);
  const auto shown = [&](ClassId id) {
    return std::binary_search(selection.shown.begin(), selection.shown.end(), id);
  };
  const auto node_name = [](NodeId node) { return std::string("n").append(number(node.index())); };
  std::string out = "digraph egraph {\n  compound=true\n  node [shape=box, style=rounded]\n";
  if (!selection.hidden.empty()) out += "  label=\"" + selection.hidden + "\"\n";
  for (const ClassId id : selection.shown) {
    out += "  subgraph cluster_" + class_name(id) + " {\n    style=dashed\n    label=\"" +
           class_name(id) + "\"\n";
    for (const NodeId node : egraph.nodes(id)) {
      out += "    " + node_name(node) + " [label=\"" + escaped(egraph.ops().text(egraph.op(node))) +
             "\"]\n";
    }
    out += "  }\n";
  }
  for (const ClassId id : selection.shown) {
    for (const NodeId node : egraph.nodes(id)) {
      for (const ClassId child : egraph.children(node)) {
        if (!shown(child) || egraph.nodes(child).empty()) continue;
        out += "  " + node_name(node) + " -> " + node_name(egraph.nodes(child).front()) +
               " [lhead=cluster_" + class_name(child) + "]\n";
      }
    }
  }
  return out + "}\n";
}

}  // namespace egret::egraph
