// SPDX-License-Identifier: Apache-2.0
// Positions of classes in an order, as columns of a core's program. Where cuts of single cycles do
// not end, positions forbid all cycles of a strong component at once, at the price of weak rows.
#pragma once

#include <map>
#include <set>
#include <span>
#include <vector>

#include "extract/milp/core_program.h"

namespace egret::extract {

using ClassPositions = std::map<ClassIndex, int>;  // the column of a class's position

// Appends to `program` a position for each class of these strong components that has none yet, and
// the rows position(need) + 1 <= position(c) for the needs of their chosen candidates.
void append_positions(const CoreStructure& structure, const std::set<std::uint32_t>& components,
                      ClassPositions& positions, Milp& program);

// Sets the positions in `values` for an acyclic choice: the least ones that keep the rows.
void set_positions(const CoreStructure& structure, std::span<const NodeIndex> chosen,
                   const ClassPositions& positions, std::vector<double>& values);

}  // namespace egret::extract
