// SPDX-License-Identifier: Apache-2.0
// An e-graph for human eyes: plain text and Graphviz.
#pragma once

#include <string>

#include "egraph/egraph.h"

namespace egret::egraph {

// One line per class, in increasing order: "c4: + c1 c2 | * c1 c3". Only the first `max_classes`;
// a last line says how many classes and nodes are not shown. The e-graph must be clean().
std::string dump(const EGraph& egraph, std::size_t max_classes = 1000);

// DOT: a dashed box per class, an edge from a node to each child class. Bounded likewise; what is
// hidden is counted in the graph's label.
std::string dump_dot(const EGraph& egraph, std::size_t max_classes = 200);

}  // namespace egret::egraph
