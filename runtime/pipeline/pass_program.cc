// SPDX-License-Identifier: Apache-2.0
#include "runtime/pipeline/pass_program.h"

#include <utility>

namespace egret::runtime {

using base::Result;

// A rank that got a message for a later exchange keeps it: messages of one sender stay in order.
Exchange group_exchange(std::int64_t first, std::int64_t tag, Messages& messages) {
  return [first, tag, &messages](std::span<const std::int64_t> group,
                                 std::span<const std::vector<std::byte>> outgoing)
             -> Result<std::vector<std::vector<std::byte>>> {
    for (std::size_t i = 0; i < group.size(); ++i)
      EGRET_RETURN_IF_ERROR(messages.send(first + group[i], tag, outgoing[i]));
    std::vector<std::vector<std::byte>> incoming;
    for (const std::int64_t rank : group) {
      EGRET_ASSIGN_OR_RETURN(MessageBytes bytes, messages.receive(first + rank, tag));
      incoming.push_back(std::move(bytes));
    }
    return incoming;
  };
}

Result<std::unique_ptr<PassProgram>> PassProgram::of_one(const ir::Graph& graph,
                                                         const backends::Backend& backend,
                                                         const backends::CompileOptions& compile) {
  auto made = std::make_unique<PassProgram>();
  made->plans_.emplace_back();
  EGRET_ASSIGN_OR_RETURN(made->plans_.back(), backend.compile(graph, compile));
  made->input_types_ = made->plans_.back()->input_types();
  return made;
}

Result<std::unique_ptr<PassProgram>> PassProgram::of_group(
    const parallel::PlacedGraph& graph, std::int64_t place, Exchange exchange,
    const backends::Backend& backend, const backends::CompileOptions& compile) {
  auto made = std::make_unique<PassProgram>();
  made->graph_ = &graph;
  made->exchange_ = std::move(exchange);
  EGRET_ASSIGN_OR_RETURN(made->program_, rank_program(graph, place));
  for (const ir::Graph* segment : made->program_.graphs()) {
    made->plans_.emplace_back();
    if (segment->outputs().empty()) continue;
    EGRET_ASSIGN_OR_RETURN(made->plans_.back(), backend.compile(*segment, compile));
  }
  for (const parallel::PlacedNode& node : graph.nodes) {
    if (node.kind == parallel::PlacedNode::Kind::kInput) made->input_types_.push_back(node.type);
  }
  return made;
}

Result<std::vector<ir::Tensor>> PassProgram::run(std::span<const ir::Tensor> inputs) {
  if (graph_ == nullptr) return plans_.front()->run(inputs);
  const auto run_segment = [this](std::size_t segment, std::span<const ir::Tensor> values) {
    return plans_[segment]->run(values);
  };
  return run_rank(*graph_, program_, inputs, run_segment, exchange_);
}

}  // namespace egret::runtime
