// SPDX-License-Identifier: Apache-2.0
// The rings (parallel/ring/ring.h) that compute what an e-node would of inputs held whole.
//
// Each input that the node's law along an axis wants whole and a law along time cuts passes round.
// Of an input that is cut along both, a device may hold its part of all and read a block in each
// step; or a step computes the block, of what passes, likewise. What is reduced of such blocks
// becomes known in the ring, too.
#pragma once

#include <utility>
#include <vector>

#include "parallel/laws/operator_ways.h"
#include "parallel/ring/ring.h"

namespace egret::parallel {

struct FoundRing {
  Ring ring;
  std::vector<std::pair<egraph::ClassId, Placement>> inputs;  // as they are held
};

// `way` is one in which the node gives its value under `output`. Some may be none: ring_program()
// tells.
std::vector<FoundRing> find_rings(const rules::TensorEGraph& tensors, const Mesh& mesh,
                                  OperatorWays& ways, egraph::NodeId node, const OperatorWay& way,
                                  const Placement& output);

}  // namespace egret::parallel
