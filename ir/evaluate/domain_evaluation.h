// SPDX-License-Identifier: Apache-2.0
// Direct evaluation of operators and graphs in an exact domain, shared by ir/evaluate/exact.cc and
// ir/evaluate/field.cc. A domain's tensor has a type() and is made by Domain::make(type). The
// domain is constructed from its arguments and a Key, which seeds its pseudo-random functions. A
// domain that offers write_undefined(out, i, why) continues after an element without a value.
#pragma once

#include <span>
#include <vector>

#include "ir/evaluate/direct_evaluator.h"
#include "ir/evaluate/graph_evaluation.h"

namespace egret::ir {

template <typename Domain>
base::Result<typename Domain::TensorOf> evaluate_in(const Operator& op, const Attrs& attrs,
                                                    std::span<const TensorType> types,
                                                    std::span<const typename Domain::TensorOf> in,
                                                    const typename Domain::Key& key);

template <typename Domain>
base::Result<std::vector<typename Domain::TensorOf>> interpret_in(
    const Graph& graph, std::span<const typename Domain::TensorOf> inputs,
    const typename Domain::Key& key) {
  return evaluate_nodes<typename Domain::TensorOf>(
      graph, inputs, [](const Node& node) { return Domain::of(node.data); },
      [&](const Operator& op, const Attrs& attrs, std::span<const TensorType> types,
          std::span<const typename Domain::TensorOf> arguments,
          std::size_t) { return evaluate_in<Domain>(op, attrs, types, arguments, key); });
}

template <typename Domain>
base::Result<typename Domain::TensorOf> evaluate_in(const Operator& op, const Attrs& attrs,
                                                    std::span<const TensorType> types,
                                                    std::span<const typename Domain::TensorOf> in,
                                                    const typename Domain::Key& key) {
  if (op.is_composite()) {
    EGRET_RETURN_IF_ERROR(check_arity(op, in.size()));
    auto body = body_graph(op, attrs, types);
    if (!body.ok()) return body.status().at(op.name());
    EGRET_ASSIGN_OR_RETURN(auto results, interpret_in<Domain>(*body, in, key));
    return std::move(results.front());
  }
  EGRET_ASSIGN_OR_RETURN(const Denotation denotation, denote_concrete(op, attrs, types));
  std::vector<DType> dtypes;
  std::vector<Shape> shapes;
  for (const TensorType& type : types) {
    dtypes.push_back(type.dtype);
    shapes.push_back(type.shape());
  }
  EGRET_ASSIGN_OR_RETURN(const TermGraph graph, term_graph(denotation, dtypes));
  typename Domain::TensorOf out = Domain::make(denotation.type);
  Domain domain(in, key);
  DirectEvaluator<Domain> evaluator(graph, shapes, domain);
  const base::Status status = evaluator.run(
      denotation.type.shape(),
      [&](std::int64_t i, typename Domain::Value value) { domain.write(out, i, std::move(value)); },
      [&](std::int64_t i, std::int64_t value) { domain.write_integer(out, i, value); },
      [&](std::int64_t i, base::Status why) {
        if constexpr (requires { domain.write_undefined(out, i, why); }) {
          domain.write_undefined(out, i, why.at(op.name()));
          return base::ok();
        } else {
          return why;
        }
      });
  if (!status.ok()) return status.at(op.name());
  return out;
}

template <typename TensorOf>
std::vector<TensorType> types_of(std::span<const TensorOf> tensors) {
  std::vector<TensorType> types;
  for (const TensorOf& tensor : tensors) types.push_back(tensor.type());
  return types;
}

}  // namespace egret::ir
