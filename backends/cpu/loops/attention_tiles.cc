// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/loops/attention_tiles.h"

#include <algorithm>
#include <limits>

#include "backends/cpu/loops/block_transpose.h"
#include "backends/cpu/loops/exponentials.h"
#include "backends/cpu/loops/product_tiles.h"
#include "backends/cpu/loops/vector_math.h"

namespace egret::backends::cpu {
namespace {

// Rows of a block of scores: with 384 columns they take 96 KiB, packed keys and values of a usual
// width as much each.
constexpr std::int64_t kRows = 64;
constexpr std::int64_t kColumns = 8 * kTileColumns, kFewColumns = 4 * kTileColumns;
constexpr std::int64_t kUsualWidths = 160;  // of a key and a value together
constexpr std::int64_t kGap = 16;           // keeps rows from sharing sets of the cache

std::int64_t in_lanes(std::int64_t size) {
  return (size + kTileLanes - 1) / kTileLanes * kTileLanes;
}

// Where the buffers lie in the scratch space, in elements.
struct Places {
  std::int64_t keys, values, left, scores, results, tops, sums, end;
  std::int64_t left_stride, score_stride, result_stride;

  Places(const AttentionSizes& sizes, std::int64_t rows)
      : left_stride(in_lanes(sizes.depth) + kGap),
        score_stride(sizes.columns_at_once() + kGap),
        result_stride(in_lanes(sizes.width) + kGap) {
    keys = 0;
    values = keys + sizes.depth * sizes.columns_at_once();
    left = values + sizes.columns_at_once() * in_lanes(sizes.width);
    scores = left + kRows * left_stride;
    results = scores + kRows * score_stride;
    tops = results + rows * result_stride;
    sums = tops + in_lanes(rows);
    end = sums + in_lanes(rows);
  }
};

// `columns` columns of a matrix in panels, as tiles read them; missing columns of the last vector
// are 0.
void pack_panels(const StridedMatrix& from, std::int64_t rows, std::int64_t columns, float* to) {
  for (std::int64_t first = 0; first < columns; first += kTileColumns) {
    const std::int64_t count = std::min(kTileColumns, columns - first);
    const std::int64_t width = in_lanes(count);
    const float* const data = from.data + first * from.column_stride;
    if (from.column_stride == 1) {
      for (std::int64_t row = 0; row < rows; ++row) {
        std::copy_n(data + row * from.row_stride, count, to + row * width);
        std::fill(to + row * width + count, to + (row + 1) * width, 0.0F);
      }
    } else {
      transpose_into(data, from.column_stride, from.row_stride, count, rows, to, width);
      for (std::int64_t row = 0; row < rows && count < width; ++row)
        std::fill(to + row * width + count, to + (row + 1) * width, 0.0F);
    }
    to += rows * width;
  }
}

// result (+)= left panels: `rows` rows of `depth` elements times `columns` packed columns.
void multiply(const float* left, std::int64_t left_stride, std::int64_t rows, std::int64_t depth,
              const float* panels, std::int64_t columns, float* result, std::int64_t result_stride,
              bool adds) {
  const TileFunctions& tiles = *tile_functions();
  const std::int64_t count = (rows + kTileRows - 1) / kTileRows;
  for (std::int64_t first = 0; first < columns; first += kTileColumns) {
    const std::int64_t width = in_lanes(std::min(kTileColumns, columns - first));
    for (std::int64_t t = 0; t < count; ++t) {
      const std::int64_t row = rows * t / count, end = rows * (t + 1) / count;
      tiles[static_cast<std::size_t>(width / kTileLanes)][static_cast<std::size_t>(end - row)](
          {.left = left + row * left_stride,
           .panel = panels,
           .depth = depth,
           .result = result + row * result_stride + first,
           .adds = adds,
           .next = panels,
           .stride = 0,
           .left_stride = left_stride,
           .result_stride = result_stride});
    }
    panels += depth * width;
  }
}

EGRET_VECTOR_CLONES void apply(const ScoreOperation& operation, const float* with, float* scores,
                               std::int64_t n) {
  const float factor = operation.factor, addend = operation.addend;
  switch (operation.kind) {
    case ScoreOperation::Kind::kLinear:
#pragma GCC ivdep
      for (std::int64_t i = 0; i < n; ++i) scores[i] = scores[i] * factor + addend;
      return;
    case ScoreOperation::Kind::kAdd:
#pragma GCC ivdep
      for (std::int64_t i = 0; i < n; ++i) scores[i] += with[i];
      return;
    case ScoreOperation::Kind::kMultiply:
#pragma GCC ivdep
      for (std::int64_t i = 0; i < n; ++i) scores[i] *= with[i];
      return;
  }
}

// One row of a block of scores becomes exponentials; the sum and the result so far, of smaller
// columns, are scaled to the largest score that is known now.
void update_row(float* scores, std::int64_t n, bool is_first, float& top, float& sum, float* result,
                std::int64_t width) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const float before = is_first ? -kInf : top;
  top = vector::max(before, largest(scores, n));
  // Of a row that is masked so far nothing remains: exp(-inf) is 0, by any finite top.
  const float shift = top == -kInf ? 0.0F : top;
  if (is_first) {
    sum = 0;
  } else if (before != top) {
    const float factor = vector::exp(before - shift);
    sum *= factor;
    scaled(result, factor, result, width);
  }
  sum += exponentials_below(scores, shift, scores, n);
}

// Scores become shares of a row whose largest score and whose sum of exponentials are known.
void divide_row(float* scores, std::int64_t n, float top, float sum) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  exponentials_below(scores, top == -kInf ? 0.0F : top, scores, n);
  scaled(scores, 1.0F / sum, scores, n);
}

}  // namespace

std::int64_t AttentionSizes::columns_at_once() const {
  const std::int64_t most = depth + width <= kUsualWidths ? kColumns : kFewColumns;
  return std::min(most, in_lanes(columns));
}

std::int64_t AttentionSizes::scratch_elements(std::int64_t rows) const {
  return Places(*this, rows).end;
}

void attend(const AttentionSizes& sizes, std::int64_t rows, const StridedMatrix& q,
            const StridedMatrix& k, const StridedMatrix& v,
            std::span<const ScoreOperation> operations, float* scratch, float* y,
            std::int64_t y_stride) {
  const Places at(sizes, rows);
  float* const left = scratch + at.left;
  float* const scores = scratch + at.scores;
  float* const results = scratch + at.results;
  float* const tops = scratch + at.tops;
  float* const sums = scratch + at.sums;
  const auto compute = [&](bool knows_sums) {
    for (std::int64_t column = 0; column < sizes.columns; column += sizes.columns_at_once()) {
      const std::int64_t n = std::min(sizes.columns_at_once(), sizes.columns - column);
      pack_panels({k.data + column * k.column_stride, k.row_stride, k.column_stride}, sizes.depth,
                  n, scratch + at.keys);
      pack_panels({v.data + column * v.row_stride, v.row_stride, v.column_stride}, n, sizes.width,
                  scratch + at.values);
      for (std::int64_t row = 0; row < rows; row += kRows) {
        const std::int64_t count = std::min(kRows, rows - row);
        for (std::int64_t r = 0; r < count; ++r) {
          const float* const from = q.data + (row + r) * q.row_stride;
          for (std::int64_t d = 0; d < sizes.depth; ++d)
            left[r * at.left_stride + d] = from[d * q.column_stride];
        }
        multiply(left, at.left_stride, count, sizes.depth, scratch + at.keys, n, scores,
                 at.score_stride, false);
        for (std::int64_t r = 0; r < count; ++r) {
          float* const of_row = scores + r * at.score_stride;
          for (const ScoreOperation& operation : operations) {
            const float* const with =
                operation.matrix == nullptr
                    ? nullptr
                    : operation.matrix + (row + r) * operation.row_stride + column;
            apply(operation, with, of_row, n);
          }
          if (knows_sums) {
            divide_row(of_row, n, tops[row + r], sums[row + r]);
          } else {
            update_row(of_row, n, column == 0, tops[row + r], sums[row + r],
                       results + (row + r) * at.result_stride, sizes.width);
          }
        }
        multiply(scores, at.score_stride, count, n, scratch + at.values, sizes.width,
                 results + row * at.result_stride, at.result_stride, column > 0);
      }
    }
  };
  compute(false);
  bool overflows = false;
  for (std::int64_t row = 0; row < rows; ++row)
    overflows = overflows || !all_finite(results + row * at.result_stride, sizes.width);
  // Sums before the division are up to `columns` times the largest value. Where they are not
  // finite, which infinities and NaN in the values are, too, exponentials are divided first.
  if (overflows) {
    compute(true);
    std::fill_n(sums, rows, 1.0F);
  }
  // Dividing the rows of the product takes fewer divisions than dividing the scores.
  for (std::int64_t row = 0; row < rows; ++row)
    scaled(results + row * at.result_stride, 1.0F / sums[row], y + row * y_stride, sizes.width);
}

}  // namespace egret::backends::cpu
