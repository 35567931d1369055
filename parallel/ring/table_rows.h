// SPDX-License-Identifier: Apache-2.0
// Looking up rows of a table that no device holds whole.
//
// Of c blocks of m rows each,
//
//   gather(x, i)  =  sum b < c where (i mod c*m) div m == b. gather(block b of x, i)
//
// because an index counts modulo the size of what is looked up in, and (i mod c*m) mod m is i mod
// m. As a program: the table is reshaped to [c, m, ..], each block is looked up in, what is not in
// the block is 0, and the blocks are added up. That is plain algebra; its placement laws are those
// of the operators it consists of. With blocks on the devices of a mesh each device looks up in its
// own rows and partial sums are added: a table cut by rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/graph/graph.h"
#include "rules/tensors/saturate.h"

namespace egret::parallel {

// The right side for inputs of these types (x and the indices, of integers), as a graph of both.
// Errors: bad_input where the axis cannot be cut evenly.
base::Result<ir::Graph> lookup_in_blocks(const ir::TensorType& table, const ir::TensorType& indices,
                                         std::int64_t axis, std::int64_t blocks);

// Rules by which lookups in inputs and constants become lookups in so many blocks, one for each
// count.
std::vector<rules::CompiledRule> rules_for_table_rows(rules::TensorEGraph& tensors,
                                                      std::span<const std::int64_t> counts);

}  // namespace egret::parallel
