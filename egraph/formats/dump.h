// SPDX-License-Identifier: Apache-2.0
// An e-graph for human eyes: plain text, Graphviz and SVG. Pictures of thousands of classes show
// nothing, so each form shows a bounded part and says what it hides.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "egraph/core/egraph.h"
#include "egraph/core/view.h"

namespace egret::egraph {

struct DumpOptions {
  // Classes nearest to the view's roots are shown; without roots the first ones.
  std::size_t max_classes = 200;
  // By view class; "c" and the e-graph's id when empty.
  std::span<const std::string> class_names = {};
};

struct Dump {
  std::string text;
  std::size_t hidden_classes = 0;
  std::size_t hidden_nodes = 0;  // in them, or left out of a class that is shown in part
};

// "3 classes with 7 nodes not shown", or "" when all is shown.
std::string hidden_text(const Dump& dump);

// One line per class, in the view's order: "c4: + c1 c2 | * c1 c3". A last line says what is not
// shown. `ops` are those of the view's e-graph.
Dump dump_text(const EGraphView& view, const OpTable& ops, const DumpOptions& options = {});
// DOT: a dashed box per class, an edge from a node to each child class; what is hidden is counted
// in the graph's label.
Dump dump_dot(const EGraphView& view, const OpTable& ops, const DumpOptions& options = {});
// A drawing without Graphviz: a box per class with a line per node, in rows by distance from the
// roots; of each class the first max_nodes are shown. What is hidden is counted below.
Dump dump_svg(const EGraphView& view, const OpTable& ops, const DumpOptions& options = {},
              std::size_t max_nodes = 12);

// The same of a clean e-graph without roots.
std::string dump(const EGraph& egraph, std::size_t max_classes = 1000);
std::string dump_dot(const EGraph& egraph, std::size_t max_classes = 200);

// The classes that a bounded dump shows, ascending. Shared by the three forms.
std::vector<EGraphView::Index> shown_classes(const EGraphView& view, std::size_t max_classes);
std::string class_name(const EGraphView& view, const DumpOptions& options, EGraphView::Index c);

}  // namespace egret::egraph
