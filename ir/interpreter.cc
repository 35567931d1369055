// SPDX-License-Identifier: Apache-2.0
#include "ir/interpreter.h"

#include <string>

#include "ir/body.h"
#include "ir/direct_evaluation.h"

namespace egret::ir {
namespace {

// The type in which a result is stored.
DType storage(DType declared, Precision precision) {
  return precision == Precision::kF64 && is_float(declared) ? DType::kF64 : declared;
}

base::Result<std::vector<Tensor>> run(const Graph& graph, std::span<const Tensor> inputs,
                                      const InterpretOptions& options);

base::Result<Tensor> evaluate_typed(const Operator& op, const Attrs& attrs,
                                    std::span<const TensorType> types,
                                    std::span<const Tensor> inputs,
                                    const InterpretOptions& options) {
  if (op.is_composite()) {
    EGRET_RETURN_IF_ERROR(check_arity(op, inputs.size()));
    auto body = body_graph(op, attrs, types);
    if (!body.ok()) return body.status().at(op.name());
    EGRET_ASSIGN_OR_RETURN(std::vector<Tensor> results, run(*body, inputs, options));
    return std::move(results.front());
  }
  EGRET_ASSIGN_OR_RETURN(const Denotation denotation, denote(op, attrs, types));
  if (!denotation.type.is_concrete() || !element_count(denotation.type.shape())) {
    return base::bad_input(op.name() + ": the output " + to_string(denotation.type) +
                           " is too large");
  }
  auto result = evaluate_directly(
      denotation, inputs, storage(denotation.type.dtype, options.precision), options.precision);
  return result.ok() ? std::move(result) : result.status().at(op.name());
}

// Inputs fit the graph.
base::Result<std::vector<Tensor>> run(const Graph& graph, std::span<const Tensor> inputs,
                                      const InterpretOptions& options) {
  std::vector<Tensor> values(graph.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) values[graph.inputs()[i].index()] = inputs[i];
  const std::vector<NodeId> live = live_nodes(graph);
  std::vector<int> uses(graph.size(), 0);
  for (const NodeId id : live) {
    for (const NodeId input : graph.node(id).inputs) ++uses[input.index()];
  }
  for (const auto& out : graph.outputs()) ++uses[out.node.index()];
  for (const NodeId id : live) {
    const Node& node = graph.node(id);
    const std::size_t i = id.index();
    if (node.kind == NodeKind::kConstant) values[i] = node.data;
    if (node.kind != NodeKind::kOperator) continue;
    if (options.should_stop && options.should_stop()) return base::limit_hit("interpreter stopped");

    std::vector<TensorType> types;
    std::vector<Tensor> arguments;
    for (const NodeId input : node.inputs) {
      const Tensor& argument = values[input.index()];
      types.emplace_back(graph.node(input).type.dtype, argument.shape());
      arguments.push_back(argument);
    }
    InterpretOptions own = options;
    own.seed = base::hash_combine(options.seed, i);
    auto result = evaluate_typed(*node.op, node.attrs, types, arguments, own);
    if (!result.ok()) {
      return node.name.empty() ? result.status() : result.status().at("'" + node.name + "'");
    }
    values[i] = *std::move(result);
    for (const NodeId input : node.inputs) {
      if (--uses[input.index()] == 0) values[input.index()] = Tensor();
    }
  }
  std::vector<Tensor> results;
  for (const auto& out : graph.outputs()) results.push_back(values[out.node.index()]);
  return results;
}

}  // namespace

base::Result<Tensor> evaluate(const Operator& op, const Attrs& attrs,
                              std::span<const Tensor> inputs, const InterpretOptions& options) {
  std::vector<TensorType> types;
  for (const Tensor& input : inputs) {
    types.emplace_back(storage(input.dtype(), options.precision), input.shape());
  }
  return evaluate_typed(op, attrs, types, inputs, options);
}

base::Result<std::vector<Tensor>> interpret(const Graph& graph, std::span<const Tensor> inputs,
                                            const InterpretOptions& options) {
  if (inputs.size() != graph.inputs().size()) {
    return base::bad_input("the graph takes " + std::to_string(graph.inputs().size()) +
                           " inputs, not " + std::to_string(inputs.size()));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Node& node = graph.node(graph.inputs()[i]);
    const TensorType& given = inputs[i].type();
    bool fits = given.rank() == node.type.rank() &&
                (given.dtype == node.type.dtype ||
                 (given.dtype == DType::kF64 && is_float(node.type.dtype)));
    for (int axis = 0; fits && axis < given.rank(); ++axis) {
      const Index& declared = node.type.dims[static_cast<std::size_t>(axis)];
      fits = !declared.is_constant() || declared.same(given.dims[static_cast<std::size_t>(axis)]);
    }
    if (!fits) {
      return base::bad_input("input '" + node.name + "' is declared " + to_string(node.type) +
                             ", not " + to_string(given));
    }
  }
  return run(graph, inputs, options);
}

}  // namespace egret::ir
