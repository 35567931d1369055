// SPDX-License-Identifier: Apache-2.0
#include "egraph/formats/dump.h"

#include <algorithm>
#include <numeric>

namespace egret::egraph {

using Index = EGraphView::Index;

namespace {

std::string number(std::size_t n) { return std::to_string(n); }

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n') {
      result += "\\n";
    } else {
      result += c;
    }
  }
  return result;
}

void count_hidden(const EGraphView& view, const std::vector<Index>& shown, Dump& dump) {
  std::size_t nodes = 0;
  for (const Index c : shown) nodes += view.class_begin[c + 1] - view.class_begin[c];
  dump.hidden_classes = view.class_count() - shown.size();
  dump.hidden_nodes = view.node_count() - nodes;
}

}  // namespace

std::string hidden_text(const Dump& dump) {
  if (dump.hidden_classes == 0 && dump.hidden_nodes == 0) return {};
  const auto count = [](std::size_t n, std::string_view one, std::string_view many) {
    return number(n).append(" ").append(n == 1 ? one : many);
  };
  return count(dump.hidden_classes, "class", "classes") + " with " +
         count(dump.hidden_nodes, "node", "nodes") + " not shown";
}

std::string class_name(const EGraphView& view, const DumpOptions& options, Index c) {
  if (!options.class_names.empty()) return options.class_names[c];
  return std::string("c").append(number(view.class_id[c].index()));
}

// All classes if there are few; otherwise those nearest to the roots, found breadth first.
std::vector<Index> shown_classes(const EGraphView& view, std::size_t max_classes) {
  std::vector<Index> shown(std::min(view.class_count(), max_classes));
  std::iota(shown.begin(), shown.end(), Index{0});
  if (shown.size() == view.class_count() || view.roots.empty()) return shown;
  shown.clear();
  std::vector<bool> seen(view.class_count());
  const auto visit = [&](Index c) {
    if (seen[c] || shown.size() == max_classes) return;
    seen[c] = true;
    shown.push_back(c);
  };
  for (const Index root : view.roots) visit(root);
  for (std::size_t next = 0; next < shown.size(); ++next) {
    const Index c = shown[next];
    for (Index node = view.class_begin[c]; node < view.class_begin[c + 1]; ++node) {
      for (const Index child : view.children_of(node)) visit(child);
    }
  }
  std::sort(shown.begin(), shown.end());
  return shown;
}

Dump dump_text(const EGraphView& view, const OpTable& ops, const DumpOptions& options) {
  const std::vector<Index> shown = shown_classes(view, options.max_classes);
  Dump dump;
  count_hidden(view, shown, dump);
  std::string& out = dump.text;
  for (const Index c : shown) {
    out += class_name(view, options, c);
    char separator = ':';
    for (Index node = view.class_begin[c]; node < view.class_begin[c + 1]; ++node) {
      if (separator == '|') out += ' ';
      out += separator;
      out.append(" ").append(ops.text(view.node_op[node]));
      for (const Index child : view.children_of(node)) {
        out.append(" ").append(class_name(view, options, child));
      }
      separator = '|';
    }
    out += '\n';
  }
  if (const std::string hidden = hidden_text(dump); !hidden.empty()) {
    out.append("... ").append(hidden).append("\n");
  }
  return dump;
}

Dump dump_dot(const EGraphView& view, const OpTable& ops, const DumpOptions& options) {
  const std::vector<Index> shown = shown_classes(view, options.max_classes);
  Dump dump;
  count_hidden(view, shown, dump);
  std::string& out = dump.text;
  out = "digraph egraph {\n  compound=true\n  node [shape=box, style=rounded]\n";
  const std::string hidden = hidden_text(dump);
  if (!hidden.empty()) out.append("  label=\"").append(hidden).append("\"\n");
  for (const Index c : shown) {
    out += "  subgraph cluster_c" + number(c) + " {\n    style=dashed\n    label=\"" +
           escaped(class_name(view, options, c)) + "\"\n";
    for (Index node = view.class_begin[c]; node < view.class_begin[c + 1]; ++node) {
      std::string label = escaped(ops.text(view.node_op[node]));
      if (!options.made_by.empty() && !options.made_by[node].empty())
        label += "\\nby " + escaped(options.made_by[node]);
      const bool chosen = !options.chosen.empty() && options.chosen[c] == node;
      out += "    n" + number(node) + " [label=\"" + label + "\"" +
             (chosen ? ", style=\"rounded,filled\", fillcolor=\"#dff3e9\"" : "") + "]\n";
    }
    out += "  }\n";
  }
  for (const Index c : shown) {
    for (Index node = view.class_begin[c]; node < view.class_begin[c + 1]; ++node) {
      for (const Index child : view.children_of(node)) {
        // Graphviz draws an edge to a cluster as an edge to a node in it, so a class without nodes
        // gets none.
        const bool empty = view.class_begin[child] == view.class_begin[child + 1];
        if (empty || !std::binary_search(shown.begin(), shown.end(), child)) continue;
        out += "  n" + number(node) + " -> n" + number(view.class_begin[child]) +
               " [lhead=cluster_c" + number(child) + "]\n";
      }
    }
  }
  out += "}\n";
  return dump;
}

std::string dump(const EGraph& egraph, std::size_t max_classes) {
  return dump_text(make_view(egraph), egraph.ops(), {max_classes}).text;
}

std::string dump_dot(const EGraph& egraph, std::size_t max_classes) {
  return dump_dot(make_view(egraph), egraph.ops(), {max_classes}).text;
}

}  // namespace egret::egraph
