// SPDX-License-Identifier: Apache-2.0
// A ring: devices compute a value block by block while blocks of its inputs circulate. No device
// holds more than one or two of these blocks.
//
// Where an operator's law along an axis needs an input whole, a gather would bring n times each
// device's share. Instead the devices take n steps, with another block in each. A second law of the
// operator, on the device's share, describes the computation of a step: a law along *time*, as if
// the steps were devices. Its partial sums or maxima are merged from step to step, its blocks are
// concatenated; this is the meaning of placements (parallel/placement/placement.h).
//
//   held     matmul  S(0), R -> S(0)             along the mesh's axis
//   in time  matmul  S(1), S(0) -> P(sum)        on the parts: a step adds a block of rows of the
//                                                second input, times those columns of the first
//
// A step may compute several operators, and their intermediate values are never held whole: each
// operator has a law along the axis and one along time, and these fit together. A value that is
// reduced along time is complete only after the last step. Two ways of reading it earlier are
// allowed, because the partial result can be corrected:
//
//   as a reference   sums of what exp(x - m) is a factor of, m a maximum. Where m becomes m', they
//                    are multiplied by exp(m - m') first: exp turns sums into products.
//   as a divisor     sums of what 1 / l is a factor of, l a sum: all are divided by l at the end.
//
// A softmax before a product with values uses both. Ring attention (Liu, Zaharia, Abbeel, "Ring
// Attention with Blockwise Transformers for Near-Infinite Context", 2023) thus follows from the
// laws of subtraction, exponential, reductions, quotient and product. No operator is named:
// definitions show where a factor passes through (parallel/ring/ring_factors.h).
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

// An input of a ring: a stationary value, of which a step reads all or a block, or a value whose
// blocks circulate.
struct RingInput {
  bool passes = false;
  AxisPlacement step{};  // in time: copy, or split
  friend bool operator==(const RingInput&, const RingInput&) = default;
};

struct RingNode {
  const ir::Operator* op = nullptr;
  ir::Attrs attrs{};          // of the operator on the whole
  std::vector<int> inputs{};  // the number of a node before it, or -1 - that of an input
  Placement placement{};      // of the value after all steps
  AxisPlacement step{};       // in time
  friend bool operator==(const RingNode&, const RingNode&) = default;
};

// The last node is the result. Circulating inputs are cut along the axis as in time.
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

// The program of a device. `step` has an input for each of the ring's, as a step reads them, then
// the states. Its outputs are the next states and, where the result is cut in time, the step's
// block of it. Otherwise `finish` makes the result from the states.
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

  // Bytes that a rank sends in all steps.
  double bytes_sent() const;
  // Memory besides inputs and result: blocks in transit, and the values of a step.
  double scratch_bytes() const;
};

// Errors, which name the node: bad_input for what does not fit, such as a value read before it is
// known; unsupported for a law that does not exist; limit on a stop request.
base::Result<RingProgram> ring_program(const Ring& ring, std::span<const HeldValue> inputs,
                                       const Mesh& mesh);

// Runs the program on the device with coordinate `here`. `held` are the inputs as it holds them.
// `pass` exchanges the circulating blocks, of which it holds the first, for those of the previous
// device. `run` runs `step` or `finish`. Steps take blocks here, here - 1, ..., so the order of
// sums is fixed and repeated runs agree.
using PassBlocks = std::function<base::Status(std::vector<ir::Tensor>& blocks)>;
using RunRingGraph = std::function<base::Result<std::vector<ir::Tensor>>(
    bool finish, std::span<const ir::Tensor> inputs)>;
base::Result<ir::Tensor> run_ring(const RingProgram& program, std::int64_t here,
                                  std::span<const ir::Tensor> held, const PassBlocks& pass,
                                  const RunRingGraph& run);

}  // namespace egret::parallel
