// SPDX-License-Identifier: Apache-2.0
#include "runtime/ranks/constant_part.h"

#include <algorithm>

namespace egret::runtime {

using Kind = parallel::PlacedNode::Kind;

// The part of the program that depends on constants alone and contains an exchange. It runs once,
// before the first run, so each run exchanges only values that depend on the inputs.
ConstantPart constant_part(const parallel::PlacedGraph& graph) {
  const std::size_t count = graph.nodes.size();
  const std::vector<bool> constant = follow_from_constants(graph);
  std::vector<bool> exchanged(count, false);  // it is, or what it is computed from
  std::vector<bool> read(count, false);       // by others than those
  for (std::size_t i = 0; i < count; ++i) {
    const parallel::PlacedNode& node = graph.nodes[i];
    exchanged[i] =
        constant[i] &&
        (node.kind == Kind::kCollective || node.kind == Kind::kRing ||
         std::ranges::any_of(node.inputs, [&](std::size_t input) { return exchanged[input]; }));
    for (const std::size_t input : node.inputs) read[input] = read[input] || !exchanged[i];
  }
  for (const auto& output : graph.outputs) read[output.node] = true;

  ConstantPart part;
  part.graph.mesh = graph.mesh;
  std::vector<bool> wanted(count, false);
  // Backward reachability: nodes come after their inputs, so one pass in reverse order suffices.
  for (std::size_t i = count; i-- > 0;) {
    if (exchanged[i] && read[i]) wanted[i] = true;
    if (!wanted[i]) continue;
    for (const std::size_t input : graph.nodes[i].inputs) wanted[input] = true;
  }
  std::vector<std::size_t> index(count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    if (!wanted[i]) continue;
    index[i] = part.graph.nodes.size();
    parallel::PlacedNode& node = part.graph.nodes.emplace_back(graph.nodes[i]);
    for (std::size_t& input : node.inputs) input = index[input];
    if (!exchanged[i] || !read[i]) continue;
    part.nodes.push_back(i);
    part.graph.outputs.push_back({"c" + std::to_string(i), index[i]});
  }
  return part;
}

// Runs the constant part as a program of its own on all ranks. This rank keeps its blocks of the
// values.
base::Result<HeldBlocks> exchange_constants(const parallel::PlacedGraph& graph, std::int64_t rank,
                                            const RunGraph& run, const Exchange& exchange) {
  const ConstantPart part = constant_part(graph);
  if (part.nodes.empty()) return HeldBlocks();
  EGRET_ASSIGN_OR_RETURN(const RankProgram program, rank_program(part.graph, rank));
  const std::vector<const ir::Graph*> graphs = program.graphs();
  const auto run_segment = [&](std::size_t i, std::span<const ir::Tensor> inputs) {
    return run(*graphs[i], inputs);
  };
  EGRET_ASSIGN_OR_RETURN(std::vector<ir::Tensor> blocks,
                         run_rank(part.graph, program, {}, run_segment, exchange));
  HeldBlocks held;
  for (std::size_t i = 0; i < blocks.size(); ++i) held[part.nodes[i]] = std::move(blocks[i]);
  return held;
}

}  // namespace egret::runtime
