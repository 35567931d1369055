// SPDX-License-Identifier: Apache-2.0
// A program for all ranks of a mesh: operators on each rank's parts, and collectives. Every rank
// runs the same nodes in the same order; ranks differ in their blocks of inputs and weights. A ring
// computes one or more operators while blocks circulate (parallel/ring/ring.h). A value that comes
// back from slower storage was copied out there behind its computation, and need not be held in
// between.
//
// Invariants (check()): a node's inputs come before it; `type` is `whole` under `placement`; an
// operator's type is what infer_type() gives on its inputs' types, and its placements follow a law
// along each axis in turn; a collective changes its input's placement along its axis to its own;
// outputs have no partial results; carried values leave in the placement in which they enter; a
// node that computes a value again is equal to the node that computed it first, and so are its
// inputs; the input of a copy back is the node that computed the value first.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/stop.h"
#include "ir/graph/graph.h"
#include "parallel/machine/collective.h"
#include "parallel/ring/ring.h"

namespace egret::parallel {

struct PlacedNode {
  enum class Kind : std::uint8_t { kInput, kConstant, kOperator, kCollective, kRing, kBack };
  Kind kind = Kind::kOperator;
  std::string name{};                // name in the model; empty only for nodes other than inputs
  const ir::Operator* op = nullptr;  // operators only
  ir::Attrs attrs{};                 // of the operator on the whole,
  ir::Attrs part_attrs{};            // and on what a rank holds
  Collective collective{};           // collectives only
  Ring ring{};                       // rings only
  // Of a ring that was planned: its program, which the laws gave.
  std::shared_ptr<const RingProgram> planned_ring{};
  std::vector<std::size_t> inputs{};
  ir::TensorType whole{};
  ir::TensorType type{};  // of what each rank holds
  Placement placement{};
  ir::Tensor data{};  // constants only: the whole
  // The node that computed the value first, where this one computes it again or copies it back.
  std::optional<std::size_t> again{};
};

struct PlacedGraph {
  struct Output {
    std::string name;
    std::size_t node = 0;
  };
  // An output that is an input of the next run, such as a parameter of a training step.
  struct Carried {
    std::size_t node = 0;  // an input
    std::size_t output = 0;
  };
  Mesh mesh;
  std::vector<PlacedNode> nodes;
  std::vector<Output> outputs;
  std::vector<Carried> carried{};
  // Ranks run the nodes in this order, since it keeps to a limit of memory. Otherwise they exchange
  // values as early as they can.
  bool in_order = false;
  // Of copies to storage and back, as the plan assumes; 0 where there are none.
  double storage_bytes_per_second = 0;
};

base::Status check(const PlacedGraph& graph);

// By node: whether its value is copied to storage behind its computation.
std::vector<bool> copied_out(const PlacedGraph& graph);

// By node: whether it is a constant or depends on constants only.
std::vector<bool> follow_from_constants(const PlacedGraph& graph);

// The program of a ring node, derived anew. Errors: as ring_program().
base::Result<RingProgram> ring_program(const PlacedGraph& graph, const PlacedNode& node);
// The same where the graph was planned or checked; it does not fail while a stop is requested if
// the graph was planned.
RingProgram known_ring_program(const PlacedGraph& graph, const PlacedNode& node);

// Runs the program on all ranks in this process, in f64, and assembles the outputs, which should
// equal the sequential program's. `inputs` are whole, in the order of the input nodes. Errors:
// limit when should_stop() holds, which is asked every few milliseconds.
base::Result<std::vector<ir::Tensor>> interpret(
    const PlacedGraph& graph, std::span<const ir::Tensor> inputs,
    const std::function<bool()>& should_stop = base::stop_requested);

// Compares interpret() with the interpretation of the sequential graph on these inputs of it.
// Errors: mismatch that says what differs; what the interpreter reports; limit as interpret().
base::Status check_against(const PlacedGraph& placed, const ir::Graph& sequential,
                           std::span<const ir::Tensor> inputs,
                           const std::function<bool()>& should_stop = base::stop_requested);

// What a rank holds over the order of execution.
struct HeldBytes {
  double fixed = 0;          // all the time: inputs, weights, what follows from weights
  std::vector<double> live;  // by operator, collective or ring that runs: other values, and scratch
};
HeldBytes held_bytes(const PlacedGraph& graph);

// What one rank holds at once: weights and inputs, and the values that wait to be used. The next of
// what is carried takes its place. What is computed from weights alone is held in their place.
double peak_bytes(const PlacedGraph& graph);

}  // namespace egret::parallel
