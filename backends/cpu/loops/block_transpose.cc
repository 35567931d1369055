// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/loops/block_transpose.h"

#include <algorithm>
#include <vector>

#include "backends/cpu/loops/instruction_set.h"
#include "base/check.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace egret::backends::cpu {
namespace {

constexpr std::int64_t kSide = 8;

// 8 x 8 elements of contiguous rows.
using SquareFunction = void (*)(const float* from, std::int64_t stride, float* to,
                                std::int64_t to_stride);

void transpose_square(const float* from, std::int64_t stride, float* to, std::int64_t to_stride) {
  for (std::int64_t r = 0; r < kSide; ++r) {
    for (std::int64_t c = 0; c < kSide; ++c) to[c * to_stride + r] = from[r * stride + c];
  }
}

#if defined(__x86_64__)
// Halves of rows that are four apart share a register; then pairs of pairs are interleaved.
__attribute__((target("avx"))) void transpose_square_v3(const float* from, std::int64_t stride,
                                                        float* to, std::int64_t to_stride) {
  for (std::int64_t half = 0; half < 2; ++half) {
    __m256 row[4];
    for (std::int64_t r = 0; r < 4; ++r) {
      const float* const at = from + r * stride + 4 * half;
      row[r] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(at)),
                                    _mm_loadu_ps(at + 4 * stride), 1);
    }
    const __m256 a = _mm256_unpacklo_ps(row[0], row[1]), b = _mm256_unpackhi_ps(row[0], row[1]);
    const __m256 c = _mm256_unpacklo_ps(row[2], row[3]), d = _mm256_unpackhi_ps(row[2], row[3]);
    float* const lines = to + 4 * half * to_stride;
    _mm256_storeu_ps(lines, _mm256_shuffle_ps(a, c, 0x44));
    _mm256_storeu_ps(lines + to_stride, _mm256_shuffle_ps(a, c, 0xee));
    _mm256_storeu_ps(lines + 2 * to_stride, _mm256_shuffle_ps(b, d, 0x44));
    _mm256_storeu_ps(lines + 3 * to_stride, _mm256_shuffle_ps(b, d, 0xee));
  }
}

SquareFunction best_square() {
  return best_of<SquareFunction>({transpose_square, transpose_square_v3, transpose_square_v3});
}
#else
SquareFunction best_square() { return transpose_square; }
#endif

}  // namespace

void transpose_into(const float* from, std::int64_t row_stride, std::int64_t column_stride,
                    std::int64_t rows, std::int64_t columns, float* to, std::int64_t to_stride) {
  const auto element = [&](std::int64_t r, std::int64_t c) {
    to[c * to_stride + r] = from[r * row_stride + c * column_stride];
  };
  static const SquareFunction square = best_square();
  const std::int64_t squares = column_stride == 1 ? columns / kSide * kSide : 0;
  for (std::int64_t r = 0; r < rows; r += kSide) {
    const bool is_whole = r + kSide <= rows;
    for (std::int64_t c = 0; is_whole && c < squares; c += kSide)
      square(from + r * row_stride + c, row_stride, to + c * to_stride + r, to_stride);
    for (std::int64_t i = r; i < std::min(rows, r + kSide); ++i) {
      for (std::int64_t c = is_whole ? squares : 0; c < columns; ++c) element(i, c);
    }
  }
}

// In-place transposition by following the cycles of the permutation. Each block is moved once; the
// extra memory is one bit per block and one block.
void transpose_blocks(std::span<float> data, std::int64_t rows, std::int64_t columns,
                      std::int64_t block) {
  EGRET_CHECK(static_cast<std::int64_t>(data.size()) == rows * columns * block,
              "a matrix of whole blocks");
  const auto at = [&](std::int64_t position) { return data.data() + position * block; };
  // The source position of the block that belongs at a position of the transposed matrix.
  const auto source_of = [&](std::int64_t position) {
    return position % rows * columns + position / rows;
  };
  std::vector<bool> moved(static_cast<std::size_t>(rows * columns), false);
  std::vector<float> first(static_cast<std::size_t>(block));
  // Follow each cycle once: save its first block, pull every other block to its place, restore.
  for (std::int64_t start = 0; start < rows * columns; ++start) {
    if (moved[static_cast<std::size_t>(start)]) continue;
    std::copy_n(at(start), block, first.data());
    std::int64_t to = start;
    for (std::int64_t from = source_of(to); from != start; to = from, from = source_of(to)) {
      std::copy_n(at(from), block, at(to));
      moved[static_cast<std::size_t>(to)] = true;
    }
    std::copy_n(first.data(), block, at(to));
    moved[static_cast<std::size_t>(to)] = true;
  }
}

}  // namespace egret::backends::cpu
