// SPDX-License-Identifier: Apache-2.0
// What a placed program computes, as a program for one device.
#pragma once

#include "base/status.h"
#include "ir/graph/graph.h"
#include "parallel/placed/placed_graph.h"

namespace egret::parallel {

// Each operator on wholes; collectives disappear, since they do not change the whole, and a ring
// becomes the operators of its steps. By the laws that check() demands, the ranks of a checked
// program hold these values under its placements. Inputs of the same name are one. O(nodes).
// Errors: bad_input for inputs of one name with different types; those of infer_type().
base::Result<ir::Graph> sequential_program(const PlacedGraph& graph);

}  // namespace egret::parallel
