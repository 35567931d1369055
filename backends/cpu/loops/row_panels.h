// SPDX-License-Identifier: Apache-2.0
// The inner loops of products of one to eight rows. Weights are packed in panels of columns, one
// row behind the other, and streamed from memory.
//
// In f32 a row of a panel is its columns. In bf16 two rows are one: each 32-bit word holds a column
// of the even row in its low half and of the odd row in its high half, so that a shift and a mask
// make f32 of them. Half the bytes come from memory; rows of x and sums stay f32.
//
// Where a matrix lies transposed, its columns are contiguous, and a result is one dot product.
#pragma once

#include <cstdint>
#include <vector>

namespace egret::backends::cpu {

inline constexpr std::int64_t kLanes = 16;  // 4-byte words of a vector
inline constexpr std::int64_t kPanel = 64;  // columns, at most

// Columns [first, first + 16 vectors) as rows of so many vectors, from `at` in the packed weights,
// in 4-byte words.
struct Panel {
  std::int64_t first, at;
  int vectors;
};
// `rows` as they are packed: of bf16 half as many, rounded up.
std::vector<Panel> panels_of(std::int64_t rows, std::int64_t columns);

// Rows of a matrix, so many elements apart. Those of x are not written.
struct Rows {
  float* data;
  std::int64_t stride;
};

// y = x w for one panel of so many vectors: `count` (1 to 8) rows of x, `rows` of the weights.
using PanelFunction = void (*)(int vectors, const Rows& x, const float* w, std::int64_t rows,
                               const Rows& y, std::int64_t count);
// The best for this processor.
PanelFunction best_panel();
PanelFunction best_bf16_panel();  // of weights in words of two rows

// scores[k] = the dot product of `query` with the key at keys + k stride, for `count` keys; both
// have `width` elements. squares[k] = that of the key with itself; nullptr: they are not wanted.
using DotsFunction = void (*)(const float* query, std::int64_t width, const float* keys,
                              std::int64_t stride, std::int64_t count, float* scores,
                              float* squares);
DotsFunction best_dots();

}  // namespace egret::backends::cpu
