// SPDX-License-Identifier: Apache-2.0
// Kernels that store several values.
//
// Two kinds are made from pieces that are known. A piece may also store values inside it that other
// pieces read. Pieces that read one value may be one kernel, which reads it once: each pair of
// them, and as many as the backend takes, one after the other. These may store values inside, too:
// two reductions of a sum, and the sum.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "extract/kernels/pieces.h"

namespace egret::extract {

struct JointOptions {
  // Questions about the pieces of one class, about the readers of one shared value, and about the
  // values inside those of its readers that are one kernel.
  std::size_t tried = 48;
  std::size_t kept = 12;     // joint pieces of each of these
  std::size_t partners = 3;  // pieces of one class that join others, the first ones
  // The classes whose values are worth reading once, say not those of scalars; empty: all.
  std::function<bool(ClassIndex)> is_shared{};
};

// Adds joint pieces for which `finding.is_kernel` says yes; what is beyond the limits is counted in
// Pieces::dropped. Time: at most `tried` calls of is_kernel for each class and twice as many for
// each shared value; all else takes O(p^2) for a piece of p nodes, and O(p r^2) for a value that r
// pieces read, up to logarithms.
void add_joint_pieces(const EGraphView& graph, const std::vector<bool>& leaves,
                      const PieceOptions& finding, const JointOptions& options, Pieces& pieces);

}  // namespace egret::extract
