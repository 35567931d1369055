// SPDX-License-Identifier: Apache-2.0
// The rings (parallel/ring/ring.h) that replace an e-node with whole inputs.
//
// An input circulates if the node's law along an axis needs it whole and a law along time cuts it.
// For an input that is cut along both, either a device holds its part of the whole and reads a
// block in each step, or a step computes the block from circulating blocks. Values reduced from
// such blocks become known in the ring, too.
#pragma once

#include <utility>
#include <vector>

#include "parallel/laws/implementations.h"
#include "parallel/ring/ring.h"

namespace egret::parallel {

struct FoundRing {
  Ring ring;
  std::vector<std::pair<egraph::ClassId, Placement>> inputs;  // as they are held
};

// `way` is an implementation of the node under `output`. Some results may not be rings;
// ring_program() decides.
std::vector<FoundRing> find_rings(const rules::TensorEGraph& tensors, const Mesh& mesh,
                                  Implementations& ways, egraph::NodeId node,
                                  const Implementation& way, const Placement& output);

}  // namespace egret::parallel
