// SPDX-License-Identifier: Apache-2.0
// A graph as a term sink (rules/tensors/binding.h); handles are NodeIds. Sizes may be symbolic
// unless a limit on elements is set.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>

#include "ir/graph/graph.h"
#include "ir/graph/type_memo.h"
#include "rules/tensors/binding.h"

namespace egret::rules {

class GraphSink : public TermSink {
 public:
  GraphSink() = default;
  // For concrete sizes only; rejects tensors with more elements. `known` must outlive the sink.
  GraphSink(std::int64_t most_elements, ir::TypeMemo& known) : limits_({most_elements, known}) {}

  Handle input(ir::TensorType type, const std::string& name, std::optional<double> splat = {},
               ir::Sign sign = ir::Sign::kUnknown);
  // Appends any node whose inputs are in the graph already.
  Handle append(ir::Node node, std::optional<double> splat = {},
                ir::Sign sign = ir::Sign::kUnknown);
  // As apply(), with a known type.
  Handle apply_typed(const ir::Operator& op, const ir::Attrs& attrs,
                     std::span<const Handle> arguments, ir::TensorType type);

  base::Result<Handle> apply(const ir::Operator& op, const ir::Attrs& attrs,
                             std::span<const Handle> arguments) override;
  base::Result<Handle> scalar(ir::DType dtype, double value) override;
  const TensorFacts& facts(Handle handle) override { return facts_[handle]; }

  ir::Graph& graph() { return graph_; }

 private:
  ir::Graph graph_;
  std::deque<TensorFacts> facts_;  // by handle; stays in place
  struct Limits {
    std::int64_t most_elements;
    ir::TypeMemo& known;
  };
  std::optional<Limits> limits_;
};

}  // namespace egret::rules
