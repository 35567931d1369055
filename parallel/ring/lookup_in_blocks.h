// SPDX-License-Identifier: Apache-2.0
// Lookups in a table that no device holds whole.
//
// Of c blocks of m rows each,
//
//   gather(x, i)  =  sum b < c where (i mod c*m) div m == b. gather(block b of x, i)
//
// because an index counts modulo the size of the table, and (i mod c*m) mod m is i mod m. As a
// program: the table is reshaped to [c, m, ..], each block is looked up, results of other blocks
// are 0, and all are added. This is plain algebra; its placement laws are those of its operators.
// With blocks on the devices of a mesh, each device looks up its own rows, and the partial sums are
// added: a table cut by rows.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "ir/graph/graph.h"

namespace egret::parallel {

// The right side for inputs of these types (x and the integer indices), as a graph of both. Errors:
// bad_input where the axis cannot be cut evenly.
base::Result<ir::Graph> lookup_in_blocks(const ir::TensorType& table, const ir::TensorType& indices,
                                         std::int64_t axis, std::int64_t blocks);

}  // namespace egret::parallel
