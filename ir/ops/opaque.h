// SPDX-License-Identifier: Apache-2.0
// Nodes of a model that stay as they are: an `opaque` operator, an uninterpreted function of the
// operands, whose value stands for all outputs of the node, and an `opaque_output` of it, of a
// declared type, for each output that is used.
//
// A node whose operator Egret does not define has no body. Rewriting goes on around it; nothing is
// known about it, and it cannot be run. A node that consists of several operators of Egret has a
// body (Graph::bodies): rewriting sees these operators too, and the node stays whole where it is
// the cheapest of the equal values. A body is sealed, and rewriting sees none of it, if the node
// means something else than its real arithmetic says, as (x + 12582912) - 12582912 rounds x, or if
// it is an If: its body computes both branches.
#pragma once

#include <cstdint>
#include <string>

#include "ir/core/dtype.h"
#include "ir/graph/graph.h"
#include "ir/graph/operator.h"

namespace egret::ir {

// Neither is among all_operators(): no rule can name them.
// opaque: attributes node (a key; equal nodes on equal operands may share it) and type
// ("com.example::Foo"), any number of operands; its type means nothing.
const Operator& opaque_operator();
// opaque_output: attributes output (which one), dtype, shape; its operand is the node.
const Operator& opaque_output();

Attrs opaque_attrs(std::string node, std::string type);
// The shape may contain symbolic integers (ir/core/symbolic_scope.h).
Attrs opaque_output_attrs(std::int64_t output, DType dtype, Integers shape);
// Of an output of which no type is known: the dtype is "unknown". The type of such a value in a
// graph, f32[], means nothing, and only opaque operators may read it.
Attrs untyped_output_attrs(std::int64_t output);

bool has_opaque(const Graph& graph);
// Without a body.
bool has_undefined(const Graph& graph);

// The body of a node; null if it has none, and for other operators than `opaque`.
const Graph* body_of(const Graph& graph, const Node& node);
// The graph with bodies in the place of the opaque nodes that have one.
Graph expand_bodies(const Graph& graph);

// The graph, its bodies expanded, cut at its other opaque nodes, which can be run: their results
// become inputs, and what they are applied to becomes outputs, behind the graph's own. Two graphs
// with the same opaque nodes get the same inputs and outputs, in the same order. The graph itself
// if it has none.
Graph cut_at_opaque(const Graph& with_bodies);
// A cut graph with the inputs and outputs of `like`, which is the cut graph of an equal program
// that has further opaque nodes. Inputs that it lacks are added, and operands of nodes that it
// lacks are computed as in `like`. Inputs and outputs are matched by name.
Graph cut_like(const Graph& cut, const Graph& like);

}  // namespace egret::ir
