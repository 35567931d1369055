// SPDX-License-Identifier: Apache-2.0
// The program of one rank: graphs on its parts, which a backend runs, and collectives between them.
// Collectives rest on one primitive, an exchange of bytes within a group, and add in the order of
// ranks: repeated runs are equal bit by bit, with any MPI library.
//
// Each rank sends as many bytes as in a ring. An all_reduce is an exchange of parts, each summed by
// one rank, and an exchange of the sums (reduce-scatter, then all-gather).
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "base/status.h"
#include "ir/graph/graph.h"
#include "parallel/placed/placed_graph.h"
#include "runtime/ranks/value_storage.h"

namespace egret::runtime {

// Sends outgoing[i] to the i-th rank of the group and returns the bytes received from each.
using Exchange = std::function<base::Result<std::vector<std::vector<std::byte>>>(
    std::span<const std::int64_t> group, std::span<const std::vector<std::byte>> outgoing)>;

// This rank's share after the collective.
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

// A segment (if it has operators), then the collectives (and copies back) whose inputs are known
// after it; of a program with an order, those that follow it in the order.
struct RankStage {
  Segment segment;
  std::vector<std::size_t> collectives;  // nodes; rings and copies back are among them
  // Nodes whose values nothing reads later: behind the segment, then behind each collective.
  std::vector<std::vector<std::size_t>> freed{};
};

// A ring among the collectives.
struct RankRing {
  std::size_t node = 0;
  parallel::RingProgram program;
};

// A rank's part of each node before a run begins.
using HeldBlocks = std::map<std::size_t, ir::Tensor>;

struct RankProgram {
  std::int64_t rank = 0;
  std::vector<RankStage> stages;
  std::vector<RankRing> rings;
  HeldBlocks blocks;               // blocks of constants that collectives, rings and outputs read
  std::vector<bool> copied_out{};  // by node: whether its value goes to storage

  // The graphs that a backend compiles: the stages' segments, then each ring's step and finish.
  // Graphs without outputs are never run.
  std::vector<const ir::Graph*> graphs() const;
};

// The graph is checked (parallel/placed/placed_graph.h). Nodes in `known` become constants, and
// nodes that only they read are dropped (runtime/ranks/constant_part.h).
base::Result<RankProgram> rank_program(const parallel::PlacedGraph& graph, std::int64_t rank,
                                       const HeldBlocks& known = {});

// A rank's parts of the inputs, in the order of the input nodes, as are the wholes. Errors:
// bad_input that names the input with a wrong type.
base::Result<std::vector<ir::Tensor>> held_inputs(const parallel::PlacedGraph& graph,
                                                  std::int64_t rank,
                                                  std::span<const ir::Tensor> wholes);

// Runs stage after stage. Inputs, in the order of the input nodes, and outputs are this rank's
// parts. `run` computes the outputs of one of program.graphs(). What the plan copies out goes to
// `storage`. Errors: those of `run`, `storage` and `exchange`, with the collective named.
using RunSegment = std::function<base::Result<std::vector<ir::Tensor>>(
    std::size_t graph, std::span<const ir::Tensor> inputs)>;
base::Result<std::vector<ir::Tensor>> run_rank(const parallel::PlacedGraph& graph,
                                               const RankProgram& program,
                                               std::span<const ir::Tensor> inputs,
                                               const RunSegment& run, const Exchange& exchange,
                                               ValueStorage& storage);
// With a storage of this run, in memory.
base::Result<std::vector<ir::Tensor>> run_rank(const parallel::PlacedGraph& graph,
                                               const RankProgram& program,
                                               std::span<const ir::Tensor> inputs,
                                               const RunSegment& run, const Exchange& exchange);

// Assembles the outputs of all ranks at rank 0; empty at the others. All ranks call it.
base::Result<std::vector<ir::Tensor>> gathered_outputs(const parallel::PlacedGraph& graph,
                                                       std::int64_t rank,
                                                       std::span<const ir::Tensor> held,
                                                       const Exchange& exchange);

}  // namespace egret::runtime
