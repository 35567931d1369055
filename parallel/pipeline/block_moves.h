// SPDX-License-Identifier: Apache-2.0
// A value goes from the ranks of one group to those of another one, which may be of another size
// and hold it under another placement. Each rank gets every element of its share once, from the
// rank with the same part of the group if that rank has it.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/core/tensor_type.h"
#include "parallel/pipeline/staged_step.h"
#include "parallel/placement/placement.h"

namespace egret::parallel {

// Neighbouring elements of one share that are neighbours in the other one too.
struct ElementRun {
  std::int64_t from = 0, to = 0, count = 0;

  friend bool operator==(const ElementRun&, const ElementRun&) = default;
};

// Who holds a value, and how.
struct HeldIn {
  const Mesh& mesh;
  Placement placement;
};

// What place TO of a group gets from each place of another one, by place. Neither placement has
// partial results or halos. O(elements of the share x places).
std::vector<std::vector<ElementRun>> block_moves(const ir::TensorType& whole, const HeldIn& from,
                                                 const HeldIn& into, std::int64_t to);

// The same for the values that cross a boundary, by value. BACKWARD: gradients, of the values that
// have one.
struct BoundaryMoves {
  std::vector<std::size_t> from_nodes, to_nodes;               // by value
  std::vector<ir::TensorType> wholes;                          // by value
  std::vector<std::vector<std::vector<ElementRun>>> by_place;  // of the sender, then by value

  std::int64_t bytes(std::int64_t place) const;  // from that sender; 0: no message
};

// What place TO of the receiving stage gets: of the one behind the boundary, or, BACKWARD, of the
// one before it. Boundary b is between stages b and b + 1.
BoundaryMoves boundary_moves(const StagedStep& step, std::int64_t boundary, bool backward,
                             std::int64_t to);

}  // namespace egret::parallel
