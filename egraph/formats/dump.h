// SPDX-License-Identifier: Apache-2.0
// Prints an e-graph for people: plain text, Graphviz and SVG. Pictures of thousands of classes are
// unreadable, so each form shows a bounded part and states what it hides.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "egraph/core/egraph.h"
#include "egraph/core/view.h"

namespace egret::egraph {

struct DumpOptions {
  // The classes nearest to the view's roots are shown; without roots, the first ones.
  std::size_t max_classes = 200;
  // Indexed by view class. If empty, a class is shown as "c" and its id in the e-graph.
  std::span<const std::string> class_names = {};
  // By view class: a node of it that is marked, or no node of the view. Empty: nothing is marked.
  std::span<const EGraphView::Index> chosen = {};
  // By view node: the rule that made it; "" for none. Empty: nothing is known. Not in text.
  std::span<const std::string> made_by = {};
};

struct Dump {
  std::string text;
  std::size_t hidden_classes = 0;
  std::size_t hidden_nodes = 0;  // in hidden classes, or omitted from a class that is shown in part
};

// Returns "3 classes with 7 nodes not shown", or "" when everything is shown.
std::string hidden_text(const Dump& dump);

// Prints one line per class, in the view's order: "c4: + c1 c2 | * c1 c3". A last line states what
// is not shown. `ops` is the OpTable of the view's e-graph.
Dump dump_text(const EGraphView& view, const OpTable& ops, const DumpOptions& options = {});
// Prints DOT: a dashed box per class and an edge from a node to each child class. Chosen nodes are
// filled. The graph's label counts what is hidden.
Dump dump_dot(const EGraphView& view, const OpTable& ops, const DumpOptions& options = {});
// Draws the view without Graphviz: a box per class with a box per node in it, in layers below the
// roots, and edges from nodes to classes. Chosen nodes and the edges between them are marked. Each
// class shows its first max_nodes nodes, and the chosen one. Below the drawing, a legend explains
// the marks, and a line counts what is hidden.
Dump dump_svg(const EGraphView& view, const OpTable& ops, const DumpOptions& options = {},
              std::size_t max_nodes = 12);

// The same for a clean e-graph without roots.
std::string dump(const EGraph& egraph, std::size_t max_classes = 1000);
std::string dump_dot(const EGraph& egraph, std::size_t max_classes = 200);

// Returns the classes that a bounded dump shows, ascending. All three forms use it.
std::vector<EGraphView::Index> shown_classes(const EGraphView& view, std::size_t max_classes);
std::string class_name(const EGraphView& view, const DumpOptions& options, EGraphView::Index c);

}  // namespace egret::egraph
