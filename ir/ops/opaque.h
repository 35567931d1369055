// SPDX-License-Identifier: Apache-2.0
// Nodes of a model that stay as they are. Each output of such a node is an `opaque` operator: an
// uninterpreted function of the operands, of a declared type.
//
// A node whose operator Egret does not define has no body. Rewriting goes on around it; nothing is
// known about it, and it cannot be run. A node that consists of several operators of Egret has a
// body (Graph::bodies): rewriting sees these operators too, and the node stays whole where it is
// the cheapest of the equal values.
#pragma once

#include <cstdint>
#include <string>

#include "ir/core/dtype.h"
#include "ir/graph/graph.h"
#include "ir/graph/operator.h"

namespace egret::ir {

// attributes: node (text), type (text), output (integer), dtype (text), shape (integers).
// It is not among all_operators(): no rule can name it.
const Operator& opaque_operator();

// One output of the node `node` (a key that no other node of the model has) of an operator `type`.
struct OpaqueOutput {
  std::string node;
  std::string type;  // "com.example::Foo"
  std::int64_t output = 0;
  DType dtype = DType::kF32;
  Integers shape{};  // may contain symbolic integers (ir/core/symbolic_scope.h)
};
Attrs opaque_attrs(const OpaqueOutput& output);

bool has_opaque(const Graph& graph);
// Without a body.
bool has_undefined(const Graph& graph);

// The body of an opaque node; null if it has none.
const Graph* body_of(const Graph& graph, const Node& node);
// The graph with bodies in the place of the opaque nodes that have one.
Graph expand_bodies(const Graph& graph);

// The graph, its bodies expanded, cut at its other opaque nodes, which can be run: their results
// become inputs, and what they are applied to becomes outputs, behind the graph's own. Two graphs
// with the same opaque nodes get the same inputs and outputs, in the same order. The graph itself
// if it has none.
Graph cut_at_opaque(const Graph& with_bodies);

}  // namespace egret::ir
