// SPDX-License-Identifier: Apache-2.0
// The function that a definition computes, as text that depends on no pool: equal texts mean equal
// functions. For comparing an operator with itself on operands of other sizes.
//
// Axes may be left out of the text. Along such an axis an output element depends on the operands'
// elements at its own place alone, with NumPy broadcasting.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/graph/definition.h"
#include "ir/graph/graph.h"

namespace egret::ir {

// One application as a graph of primitive operators. Errors: those that the operator reports about
// the operands.
base::Result<Graph> application(const Operator& op, const Attrs& attrs,
                                std::span<const TensorType> operands);

// By node of a graph and axis of its value: a number that identifies an axis that is left out, or
// kKept.
inline constexpr int kKept = -1;
using LeftOutAxes = std::vector<std::vector<int>>;

// The function that an element of a node of `graph` is of elements of the node's inputs. All
// operators of the graph are primitive. Sizes and symbols in `hidden` must not occur.
//
// nullopt: there is no text without the axes that are left out, because the element depends on its
// place along one of them.
std::optional<std::string> function_text(const Graph& graph, NodeId node, const LeftOutAxes& axes,
                                         std::span<const Index> hidden = {});

// The functions of all nodes that the outputs need, and the element types, requirements and other
// sizes of these nodes. Sizes of left out axes are no part of the text.
std::optional<std::string> functions_text(const Graph& graph, const LeftOutAxes& axes,
                                          std::span<const Index> hidden = {});

}  // namespace egret::ir
