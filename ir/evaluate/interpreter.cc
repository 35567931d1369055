// SPDX-License-Identifier: Apache-2.0
#include "ir/evaluate/interpreter.h"

#include "base/hash.h"
#include "ir/evaluate/direct_evaluation.h"
#include "ir/evaluate/evaluation_memo.h"
#include "ir/evaluate/evaluation_program.h"
#include "ir/evaluate/graph_evaluation.h"
#include "ir/evaluate/lane_memory.h"
#include "ir/evaluate/perturbation.h"

namespace egret::ir {
namespace {

base::Result<Tensor> evaluate_typed(const Operator& op, const Attrs& attrs,
                                    std::span<const TensorType> types,
                                    std::span<const Tensor> inputs,
                                    const InterpretOptions& options);

// A constant as it is read: with a perturbation, moved within the rounding of its elements.
Tensor constant_value(const Node& node, const InterpretOptions& options) {
  if (options.perturbation == 0 || !is_float(node.data.dtype())) return node.data;
  Tensor moved = node.data;
  if (options.precision == Precision::kF64 && moved.dtype() != DType::kF64) {
    moved = Tensor::unfilled({DType::kF64, node.data.shape()});
    load_lanes(node.data.dtype(), node.data.data().data(), 0, 1, moved.elements(),
               moved.mutable_as<double>().data());
  }
  const std::uint64_t seed = base::hash_combine(options.seed, node.data.content_hash().low);
  perturb_rounded(moved, options.perturbation, seed);
  return moved;
}

// Each node has a seed of its own, so two equal operators are perturbed independently.
base::Result<std::vector<Tensor>> run(const Graph& graph, std::span<const Tensor> inputs,
                                      const InterpretOptions& options) {
  InterpretOptions own = options;
  return evaluate_nodes<Tensor>(
      graph, inputs, [&](const Node& node) { return constant_value(node, options); },
      [&](const Operator& op, const Attrs& attrs, std::span<const TensorType> types,
          std::span<const Tensor> arguments, std::size_t node) {
        own.seed = base::hash_combine(options.seed, node);
        return evaluate_typed(op, attrs, types, arguments, own);
      });
}

// A composite is evaluated by its body. A primitive is evaluated as a loop nest or, where its
// definition has no nest, element by element.
base::Result<Tensor> evaluate_typed(const Operator& op, const Attrs& attrs,
                                    std::span<const TensorType> types,
                                    std::span<const Tensor> inputs,
                                    const InterpretOptions& options) {
  if (options.should_stop && options.should_stop()) return base::limit_hit("interpreter stopped");
  if (op.is_composite()) {
    EGRET_RETURN_IF_ERROR(check_arity(op, inputs.size()));
    auto body = body_graph(op, attrs, types);
    if (!body.ok()) return body.status().at(op.name());
    auto results = run(*body, inputs, options);
    if (!results.ok()) return results.status().at(op.name());
    return std::move(results->front());
  }
  if (options.memo != nullptr) {
    if (const auto plan = options.memo->plan(op, attrs, types, options.precision); plan.ok()) {
      auto result = evaluate(**plan, inputs, options);
      return result.ok() ? std::move(result) : result.status().at(op.name());
    }
  }
  EGRET_ASSIGN_OR_RETURN(const Denotation denotation, denote_concrete(op, attrs, types));
  const DType stored = storage_type(denotation.type.dtype, options.precision);
  auto result = evaluate_planned(denotation, inputs, stored, options);
  if (!result.ok() && result.status().code() == base::StatusCode::kUnsupported) {
    result = evaluate_directly(denotation, inputs, stored, options.precision);
  }
  return result.ok() ? std::move(result) : result.status().at(op.name());
}

}  // namespace

base::Result<Tensor> evaluate(const Operator& op, const Attrs& attrs,
                              std::span<const Tensor> inputs, const InterpretOptions& options) {
  std::vector<TensorType> types;
  for (const Tensor& input : inputs) {
    types.emplace_back(storage_type(input.dtype(), options.precision), input.shape());
  }
  return evaluate_typed(op, attrs, types, inputs, options);
}

base::Result<std::vector<Tensor>> interpret(const Graph& graph, std::span<const Tensor> inputs,
                                            const InterpretOptions& options) {
  std::vector<TensorType> types;
  for (const Tensor& input : inputs) types.push_back(input.type());
  EGRET_RETURN_IF_ERROR(check_input_types(graph, types, /*wide=*/true));
  EGRET_RETURN_IF_ERROR(check_memory(graph));
  return run(graph, inputs, options);
}

}  // namespace egret::ir
