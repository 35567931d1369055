// SPDX-License-Identifier: Apache-2.0
// What one rank does: graphs on what it holds, for a backend to run, and collectives between them.
// Collectives rest on one primitive, an exchange of bytes among the ranks of a group, and add up in
// the order of ranks: equal runs are equal bit by bit, on whatever MPI library.
//
// Each rank sends what a ring would in collectives: an all_reduce is an exchange of parts, each
// summed by one rank, and an exchange of the sums.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "base/status.h"
#include "ir/graph/graph.h"
#include "parallel/placed/placed_graph.h"

namespace egret::runtime {

// Sends outgoing[i] to the i-th rank of the group; what came from each.
using Exchange = std::function<base::Result<std::vector<std::vector<std::byte>>>(
    std::span<const std::int64_t> group, std::span<const std::vector<std::byte>> outgoing)>;

// What this rank holds afterwards.
base::Result<ir::Tensor> run_collective(const parallel::Collective& collective,
                                        const parallel::Mesh& mesh, std::int64_t rank,
                                        const ir::Tensor& local, const Exchange& exchange);

// Operators between two collectives. The graph has an input for each of `inputs` and an output for
// each of `outputs`, nodes of the placed graph; the rank's blocks of weights are its constants.
struct Segment {
  ir::Graph graph;
  std::vector<std::size_t> inputs;
  std::vector<std::size_t> outputs;
};

// In order: the segment (if it has operators), then the collectives on what is known by then.
struct RankStage {
  Segment segment;
  std::vector<std::size_t> collectives;  // nodes; rings are among them
};

// A ring among the collectives.
struct RankRing {
  std::size_t node = 0;
  parallel::RingProgram program;
};

// By node, what a rank holds of it before a run begins.
using HeldBlocks = std::map<std::size_t, ir::Tensor>;

struct RankProgram {
  std::int64_t rank = 0;
  std::vector<RankStage> stages;
  std::vector<RankRing> rings;
  HeldBlocks blocks;  // of constants: those that collectives, rings and outputs read

  // What a backend compiles: the stages' segments, then of each ring the step and the finish.
  // Those without outputs are never run.
  std::vector<const ir::Graph*> graphs() const;
};

// The graph is checked (parallel/placed/placed_graph.h). What is known is a constant to the
// program, and what only such nodes read is not in it (runtime/ranks/constant_part.h).
base::Result<RankProgram> rank_program(const parallel::PlacedGraph& graph, std::int64_t rank,
                                       const HeldBlocks& known = {});

// What a rank holds of the inputs, by the order of the input nodes, in which the wholes are given.
// Errors: bad_input that names the input whose type is another.
base::Result<std::vector<ir::Tensor>> held_inputs(const parallel::PlacedGraph& graph,
                                                  std::int64_t rank,
                                                  std::span<const ir::Tensor> wholes);

// Runs stage after stage. Inputs, by the order of the input nodes, and outputs are as this rank
// holds them; `run` computes the outputs of one of program.graphs().
// Errors: as they come from `run` and `exchange`, with the collective named.
using RunSegment = std::function<base::Result<std::vector<ir::Tensor>>(
    std::size_t graph, std::span<const ir::Tensor> inputs)>;
base::Result<std::vector<ir::Tensor>> run_rank(const parallel::PlacedGraph& graph,
                                               const RankProgram& program,
                                               std::span<const ir::Tensor> inputs,
                                               const RunSegment& run, const Exchange& exchange);

// The wholes of what all ranks hold of the outputs, at rank 0; none at the others. All ranks call
// it.
base::Result<std::vector<ir::Tensor>> gathered_outputs(const parallel::PlacedGraph& graph,
                                                       std::int64_t rank,
                                                       std::span<const ir::Tensor> held,
                                                       const Exchange& exchange);

}  // namespace egret::runtime
