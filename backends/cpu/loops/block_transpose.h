// SPDX-License-Identifier: Apache-2.0
// Transposition of matrices, in place and as a copy.
#pragma once

#include <cstdint>
#include <span>

namespace egret::backends::cpu {

// `data` is a row-major matrix of rows x columns blocks of `block` floats each; afterwards it is
// its transpose. Each block moves once along its cycle of the permutation. Memory: one bit for each
// block, and one block.
void transpose_blocks(std::span<float> data, std::int64_t rows, std::int64_t columns,
                      std::int64_t block);

// to[c * to_stride + r] = from[r * row_stride + c * column_stride], for r < rows and c < columns.
void transpose_into(const float* from, std::int64_t row_stride, std::int64_t column_stride,
                    std::int64_t rows, std::int64_t columns, float* to, std::int64_t to_stride);

}  // namespace egret::backends::cpu
