// SPDX-License-Identifier: Apache-2.0
// softmax(operations(q k)) v by the tiles of product_tiles.h, in blocks of rows and columns of the
// scores that lie in the second-level cache. The largest score of a row is known for the columns so
// far; where a later block has a larger one, sums and results are scaled down (Milakov and
// Gimelshein, Online normalizer calculation for softmax, 2018; FlashAttention, Dao et al., 2022).
// Keys and values of a block of columns are packed once for all rows.
#pragma once

#include <cstdint>
#include <span>

namespace egret::backends::cpu {

struct StridedMatrix {
  const float* data = nullptr;
  std::int64_t row_stride = 0, column_stride = 0;  // in elements
};

// One of the pointwise operators between product and softmax, in their order.
struct ScoreOperation {
  enum class Kind : std::uint8_t { kLinear, kAdd, kMultiply };
  Kind kind = Kind::kLinear;
  float factor = 1, addend = 0;   // of kLinear
  const float* matrix = nullptr;  // of the others: contiguous rows
  std::int64_t row_stride = 0;    // 0: one row for all
};

struct AttentionSizes {
  std::int64_t depth = 0, columns = 0, width = 0;  // q: rows x depth, v: columns x width

  // Rows that are computed together, at most.
  static constexpr std::int64_t kMostRows = 512;
  // Floats of scratch space for so many rows.
  std::int64_t scratch_elements(std::int64_t rows) const;
  std::int64_t columns_at_once() const;
};

// `rows` is at most kMostRows; rows of y are contiguous. There are tile_functions().
void attend(const AttentionSizes& sizes, std::int64_t rows, const StridedMatrix& q,
            const StridedMatrix& k, const StridedMatrix& v,
            std::span<const ScoreOperation> operations, float* scratch, float* y,
            std::int64_t y_stride);

}  // namespace egret::backends::cpu
