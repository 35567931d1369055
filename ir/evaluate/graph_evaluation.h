// SPDX-License-Identifier: Apache-2.0
// The walk over a graph that all interpreters share: nodes in order, each value freed after its
// last use, composites evaluated through their body. T is a tensor of some domain and has a type().
// Constants are converted when they are first read: in other domains they are several times as
// large, and the memory of freed constants serves later ones.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "ir/graph/body.h"
#include "ir/graph/graph.h"

namespace egret::ir {

// Checks given input types: equal ranks, known sizes and equal element types; with `wide`, f64 for
// any real. Errors: bad_input that names the input.
base::Status check_input_types(const Graph& graph, std::span<const TensorType> given, bool wide);

// Whether the values that are alive at the same time, of 8 bytes an element, fit into this
// machine's memory. Values of open sizes and constants do not count. Errors: limit_hit that names
// the value at which they do not. O(n).
base::Status check_memory(const Graph& graph);

// `constant(node)` gives a constant's value, `evaluate(op, attrs, types, arguments, node index)` a
// Result<T>. The types have the declared element types and the arguments' shapes.
template <typename T, typename Constant, typename Evaluate>
base::Result<std::vector<T>> evaluate_nodes(const Graph& graph, std::span<const T> inputs,
                                            const Constant& constant, const Evaluate& evaluate) {
  std::vector<T> values(graph.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) values[graph.inputs()[i].index()] = inputs[i];
  const std::vector<NodeId> live = live_nodes(graph);
  std::vector<int> uses(graph.size(), 0);
  for (const NodeId id : live) {
    for (const NodeId input : graph.node(id).inputs) ++uses[input.index()];
  }
  for (const auto& out : graph.outputs()) ++uses[out.node.index()];

  std::vector<bool> made(graph.size(), false);
  const auto value_of = [&](NodeId id) -> const T& {
    if (graph.node(id).kind == NodeKind::kConstant && !made[id.index()]) {
      values[id.index()] = constant(graph.node(id));
      made[id.index()] = true;
    }
    return values[id.index()];
  };
  for (const NodeId id : live) {
    const Node& node = graph.node(id);
    if (node.kind != NodeKind::kOperator) continue;
    std::vector<TensorType> types;
    std::vector<T> arguments;
    for (const NodeId input : node.inputs) {
      const T& argument = value_of(input);
      types.emplace_back(graph.node(input).type.dtype, argument.type().shape());
      arguments.push_back(argument);
    }
    auto result = evaluate(*node.op, node.attrs, types, arguments, id.index());
    if (!result.ok()) {
      return node.name.empty() ? result.status() : result.status().at("'" + node.name + "'");
    }
    values[id.index()] = *std::move(result);
    for (const NodeId input : node.inputs) {
      if (--uses[input.index()] == 0) values[input.index()] = T();
    }
  }
  std::vector<T> results;
  for (const auto& out : graph.outputs()) results.push_back(value_of(out.node));
  return results;
}

}  // namespace egret::ir
