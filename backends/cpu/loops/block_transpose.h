// SPDX-License-Identifier: Apache-2.0
// Transposing a matrix where it lies.
#pragma once

#include <cstdint>
#include <span>

namespace egret::backends::cpu {

// `data` is a matrix of rows x columns blocks of so many floats each, row by row; afterwards it is
// the transposed matrix of the same blocks. Each block is moved once along its cycle of the
// permutation: a bit a block and one block are all the memory that it takes.
void transpose_blocks(std::span<float> data, std::int64_t rows, std::int64_t columns,
                      std::int64_t block);

}  // namespace egret::backends::cpu
