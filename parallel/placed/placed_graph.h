// SPDX-License-Identifier: Apache-2.0
// A program for all ranks of a mesh: operators on what each rank holds, and collectives. Every rank
// runs the same nodes in the same order; ranks differ in which blocks of inputs and weights they
// hold. A ring is an operator, or some of them, that computes while blocks pass round
// (parallel/ring/ring.h).
//
// Invariants (check()): a node's inputs come before it; `type` is what `placement` leaves of
// `whole`; an operator's type is what infer_type() gives on its inputs' types, and its placements
// are those of a law, along one axis after the other; a collective changes the placement along its
// axis from what its input has to what it has itself; outputs have no partial results; what is
// carried from run to run leaves as it enters.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "ir/graph/graph.h"
#include "parallel/machine/collective.h"
#include "parallel/ring/ring.h"

namespace egret::parallel {

struct PlacedNode {
  enum class Kind : std::uint8_t { kInput, kConstant, kOperator, kCollective, kRing };
  Kind kind = Kind::kOperator;
  std::string name{};                // of the value in the model; may be empty but for inputs
  const ir::Operator* op = nullptr;  // operators only
  ir::Attrs attrs{};                 // of the operator on the whole,
  ir::Attrs part_attrs{};            // and on what a rank holds
  Collective collective{};           // collectives only
  Ring ring{};                       // rings only
  std::vector<std::size_t> inputs{};
  ir::TensorType whole{};
  ir::TensorType type{};  // of what each rank holds
  Placement placement{};
  ir::Tensor data{};  // constants only: the whole
};

struct PlacedGraph {
  struct Output {
    std::string name;
    std::size_t node = 0;
  };
  // An output that is the input of the next run: a parameter, say, of a training step.
  struct Carried {
    std::size_t node = 0;  // an input
    std::size_t output = 0;
  };
  Mesh mesh;
  std::vector<PlacedNode> nodes;
  std::vector<Output> outputs;
  std::vector<Carried> carried{};
};

base::Status check(const PlacedGraph& graph);

// By node: whether it is a constant or computed from constants alone.
std::vector<bool> follow_from_constants(const PlacedGraph& graph);

// What the ranks run for a ring among the nodes. Errors: as ring_program().
base::Result<RingProgram> ring_program(const PlacedGraph& graph, const PlacedNode& node);

// Runs the program on all ranks in this process, in f64, and puts the outputs together: what the
// sequential program should give. `inputs` are whole, by the order of the input nodes.
base::Result<std::vector<ir::Tensor>> interpret(const PlacedGraph& graph,
                                                std::span<const ir::Tensor> inputs);

// Compares interpret() with the interpretation of the sequential graph on these inputs of it.
// Errors: mismatch that says what differs; what the interpreter reports.
base::Status check_against(const PlacedGraph& placed, const ir::Graph& sequential,
                           std::span<const ir::Tensor> inputs);

// What one rank holds at once: weights and inputs, and the values that wait to be used. The next of
// what is carried takes its place. What is computed from weights alone is held in their place.
double peak_bytes(const PlacedGraph& graph);

}  // namespace egret::parallel
