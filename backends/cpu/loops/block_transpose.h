// SPDX-License-Identifier: Apache-2.0
// In-place transposition of a matrix.
#pragma once

#include <cstdint>
#include <span>

namespace egret::backends::cpu {

// `data` is a row-major matrix of rows x columns blocks of `block` floats each; afterwards it is
// its transpose. Each block moves once along its cycle of the permutation. Memory: one bit for each
// block, and one block.
void transpose_blocks(std::span<float> data, std::int64_t rows, std::int64_t columns,
                      std::int64_t block);

}  // namespace egret::backends::cpu
