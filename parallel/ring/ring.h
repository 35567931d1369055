// SPDX-License-Identifier: Apache-2.0
// A ring: a value that devices compute block by block, while blocks of what it is computed from
// pass round. No device holds more than a block or two of them.
//
// Where an operator's law along an axis wants an input whole, a gather of n times what each device
// holds would bring it. Instead the devices take n steps. In each of them every one has another
// block, and a law of the operator on what the device holds says what the step computes: it is a
// law along *time*, as if the steps were devices. Its partial sums or maxima are merged from step
// to step, its blocks put one after the other; that is what placements mean
// (parallel/placement/placement.h).
//
//   held     matmul  S(0), R -> S(0)             along the mesh's axis
//   in time  matmul  S(1), S(0) -> P(sum)        on the parts: a step adds a block of rows of the
//                                                second input, times those columns of the first
//
// A step may compute several operators, so that what is between them is never held whole: each has
// a law along the axis and one along time, and they fit together. A value that is reduced along
// time is known after the last step only. Two ways of reading it before are allowed, because what
// was summed up by then can be corrected:
//
//   as a reference   sums of what exp(x - m) is a factor of, m a maximum. Where m becomes m', they
//                    are multiplied by exp(m - m') first: exp turns sums into products.
//   as a divisor     sums of what 1 / l is a factor of, l a sum: all are divided by l at the end.
//
// A softmax before a product with values is both: attention in a ring (Liu, Zaharia, Abbeel, "Ring
// Attention with Blockwise Transformers for Near-Infinite Context", 2023) follows from the laws of
// subtraction, exponential, reductions, quotient and product. No operator is named: that a factor
// passes through is read off definitions (parallel/ring/ring_factors.h).
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "ir/graph/graph.h"
#include "parallel/placement/mesh.h"
#include "parallel/placement/placement.h"

namespace egret::parallel {

// What a ring reads: a value that stays where it is, of which a step reads all or a block, or one
// whose blocks pass round.
struct RingInput {
  bool passes = false;
  AxisPlacement step{};  // in time: copy, or split
  friend bool operator==(const RingInput&, const RingInput&) = default;
};

struct RingNode {
  const ir::Operator* op = nullptr;
  ir::Attrs attrs{};          // of the operator on the whole
  std::vector<int> inputs{};  // the number of a node before it, or -1 - that of an input
  Placement placement{};      // of what the devices make of it in all steps together
  AxisPlacement step{};       // in time
  friend bool operator==(const RingNode&, const RingNode&) = default;
};

// The last node is the result. Inputs that pass are cut along the axis as in time.
struct Ring {
  int axis = 0;
  std::vector<RingInput> inputs;
  std::vector<RingNode> nodes;
  friend bool operator==(const Ring&, const Ring&) = default;
};

std::string to_string(const Ring& ring, const Mesh& mesh);

// An input as the devices hold it.
struct HeldValue {
  ir::TensorType whole;
  Placement placement;
};

// What a device runs. `step` has an input for each of the ring's, as a step reads them, then the
// states; its outputs are the next states, then, where the result is cut in time, the step's block
// of it. Otherwise `finish` makes the result of the states.
struct RingProgram {
  struct State {
    ir::TensorType type;
    double first = 0;  // before the first step
  };
  int axis = 0;
  std::int64_t steps = 1;
  std::vector<RingInput> inputs;
  std::vector<ir::TensorType> blocks;  // what a step reads of each input
  std::vector<State> states;
  ir::Graph step;
  ir::Graph finish;
  AxisPlacement result{};  // in time
  ir::TensorType whole;
  ir::TensorType type;  // of what each rank holds of the result
  Placement placement;

  // What a rank sends in all steps.
  double bytes_sent() const;
  // Held besides inputs and result: blocks that are on their way, and what a step computes.
  double scratch_bytes() const;
};

// Errors: bad_input that names the node and what does not fit: a law that does not exist, a value
// read before it is known.
base::Result<RingProgram> ring_program(const Ring& ring, std::span<const HeldValue> inputs,
                                       const Mesh& mesh);

// Runs it on the device with coordinate `here`. `held` are the inputs as it holds them; `pass`
// exchanges the passing inputs' blocks, of which it holds the first, for those of the device
// before; `run` runs `step` or `finish`. Steps take blocks here, here - 1, ... , so sums are made
// in an order that does not change from run to run.
using PassBlocks = std::function<base::Status(std::vector<ir::Tensor>& blocks)>;
using RunRingGraph = std::function<base::Result<std::vector<ir::Tensor>>(
    bool finish, std::span<const ir::Tensor> inputs)>;
base::Result<ir::Tensor> run_ring(const RingProgram& program, std::int64_t here,
                                  std::span<const ir::Tensor> held, const PassBlocks& pass,
                                  const RunRingGraph& run);

}  // namespace egret::parallel
