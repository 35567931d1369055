// SPDX-License-Identifier: Apache-2.0
// The loops of row_panels.h as templates over the element type of the weights. Each of the files
// row_panels*.cc compiles them for one instruction set; backends/CMakeLists.txt sets the flags.
// Only they and their test include this header.
//
// The namespace is anonymous: two object files that are compiled for different instruction sets
// must not share a function, of which the linker would keep one.
#pragma once

#include <cstdint>
#include <type_traits>

#include "backends/cpu/loops/row_panels.h"

namespace egret::backends::cpu {

// Defined for x86-64 only.
using PanelLoop = std::remove_pointer_t<PanelFunction>;
PanelLoop f32_panel_v3, f32_panel_v4, bf16_panel_v3, bf16_panel_v4;
std::remove_pointer_t<DotsFunction> dots_v3, dots_v4;

namespace {

// Vectors are as wide as the registers. The compiler splits wider ones, but then holds the sums in
// memory (GCC 12: ten times slower on AVX2).
#if defined(__AVX512F__)
constexpr int kBytes = 64;
#elif defined(__AVX__)
constexpr int kBytes = 32;
#else
constexpr int kBytes = 16;
#endif
constexpr int kWidth = kBytes / 4;  // words
using Block __attribute__((vector_size(kBytes), aligned(4), may_alias)) = float;
using Words __attribute__((vector_size(kBytes), aligned(4), may_alias)) = std::uint32_t;

// A line of a panel is the words that lie together for all its columns: one row in f32, two rows in
// bf16. load() converts one vector of words to f32, a block for each row. It writes through a
// pointer because the ABI of returned vectors depends on the instruction set.
struct F32Weights {
  static constexpr int kRowsOfLine = 1;
  static void load(const float* words, Block* rows) {
    rows[0] = *reinterpret_cast<const Block*>(words);
  }
};
struct Bf16Weights {
  static constexpr int kRowsOfLine = 2;
  static void load(const float* words, Block* rows) {
    const Words pairs = *reinterpret_cast<const Words*>(words);
    rows[0] = reinterpret_cast<Block>(pairs << 16);
    rows[1] = reinterpret_cast<Block>(pairs & 0xffff0000U);
  }
};

constexpr std::int64_t kAhead = 512;    // words that the prefetch is ahead
constexpr std::int64_t kKeysAhead = 8;  // the same in keys
// Rows that are summed before the sum is added to the total. The rounding error then grows with
// rows / kRun + kRun instead of rows. Even, so that a pair of rows lies in one run.
constexpr std::int64_t kRun = 128;

// One row of x. Even and odd rows have separate sums, in panels of all widths: equal columns give
// equal results. The widest panel then has eight independent sums, enough to hide the latency of an
// addition. The prefetch serves weights that lie in memory: it crosses the ends of pages, where the
// processor's own prefetch stops.
template <typename Weights, int kVectors>
void multiply_row(const float* x, const float* w, std::int64_t rows, float* y) {
  constexpr int kLine = kVectors * kLanes, kBlocks = kLine / kWidth;
  Block total[kBlocks] = {};
  for (std::int64_t row = 0; row < rows;) {
    const std::int64_t end = rows - row < kRun ? rows : row + kRun;
    Block even[kBlocks] = {}, odd[kBlocks] = {};
    for (; row + 2 <= end; row += 2, w += 2 / Weights::kRowsOfLine * kLine) {
      for (int i = 0; i < kBlocks; ++i) {
        Block pair[2];
        for (int r = 0; r < 2; r += Weights::kRowsOfLine) {
          const float* const words = w + r * kLine + i * kWidth;
          if (i * kWidth % kLanes == 0) __builtin_prefetch(words + kAhead);
          Weights::load(words, pair + r);
        }
        even[i] += x[row] * pair[0];
        odd[i] += x[row + 1] * pair[1];
      }
    }
    for (; row < end; ++row, w += kLine) {
      for (int i = 0; i < kBlocks; ++i) {
        Block last[Weights::kRowsOfLine];
        Weights::load(w + i * kWidth, last);
        even[i] += x[row] * last[0];
      }
    }
    for (int i = 0; i < kBlocks; ++i) total[i] += even[i] + odd[i];
  }
  for (int i = 0; i < kBlocks; ++i) *reinterpret_cast<Block*>(y + i * kWidth) = total[i];
}

// kRows rows of x, which share each weight that is read. Prefetches `step` words from `next` on for
// each line and returns where it stopped.
template <typename Weights, int kRows, int kVectors>
const float* multiply_rows(const Rows& x, const float* w, std::int64_t rows, const Rows& y,
                           const float* next, std::int64_t step) {
  constexpr int kLine = kVectors * kLanes, kBlocks = kLine / kWidth;
  Block total[kRows][kBlocks] = {};
  for (std::int64_t row = 0; row < rows;) {
    const std::int64_t end = rows - row < kRun ? rows : row + kRun;
    Block sum[kRows][kBlocks] = {};
    for (; row < end; row += Weights::kRowsOfLine, w += kLine, next += step) {
      for (std::int64_t e = 0; e < step; e += kLanes) __builtin_prefetch(next + e, 0, 2);
      for (int i = 0; i < kBlocks; ++i) {
        Block line[Weights::kRowsOfLine];
        Weights::load(w + i * kWidth, line);
        for (int l = 0; l < Weights::kRowsOfLine && row + l < end; ++l) {
          for (int r = 0; r < kRows; ++r) sum[r][i] += x.data[r * x.stride + row + l] * line[l];
        }
      }
    }
    row = end;
    for (int r = 0; r < kRows; ++r) {
      for (int i = 0; i < kBlocks; ++i) total[r][i] += sum[r][i];
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int i = 0; i < kBlocks; ++i)
      *reinterpret_cast<Block*>(y.data + r * y.stride + i * kWidth) = total[r][i];
  }
  return next;
}

// Blocks of four rows of x, then two, then one. Each block of k rows prefetches k / count of the
// next panel, so that the panel has arrived when this one is done.
template <typename Weights, int kVectors>
void multiply_panel(Rows x, const float* w, std::int64_t rows, Rows y, std::int64_t count) {
  if (count == 1) return multiply_row<Weights, kVectors>(x.data, w, rows, y.data);
  constexpr int kRowsOfLine = Weights::kRowsOfLine;
  const float* next = w + (rows + kRowsOfLine - 1) / kRowsOfLine * kVectors * kLanes;
  const std::int64_t step = kVectors * kLanes / count;
  for (; count >= 4; count -= 4, x.data += 4 * x.stride, y.data += 4 * y.stride)
    next = multiply_rows<Weights, 4, kVectors>(x, w, rows, y, next, 4 * step);
  for (; count >= 2; count -= 2, x.data += 2 * x.stride, y.data += 2 * y.stride)
    next = multiply_rows<Weights, 2, kVectors>(x, w, rows, y, next, 2 * step);
  if (count > 0) multiply_row<Weights, kVectors>(x.data, w, rows, y.data);
}

template <typename Weights>
void multiply(int vectors, const Rows& x, const float* w, std::int64_t rows, const Rows& y,
              std::int64_t count) {
  if (vectors == 4) {
    multiply_panel<Weights, 4>(x, w, rows, y, count);
  } else if (vectors == 2) {
    multiply_panel<Weights, 2>(x, w, rows, y, count);
  } else {
    multiply_panel<Weights, 1>(x, w, rows, y, count);
  }
}

// kKeys keys share each vector of the query that is read. The rest of a key that fills no vector is
// added element by element.
template <int kKeys, bool kSquares>
void dot_keys(const float* query, std::int64_t width, const float* keys, std::int64_t stride,
              float* scores, float* squares) {
  Block sum[kKeys] = {};
  [[maybe_unused]] Block square[kKeys] = {};
  std::int64_t at = 0;
  for (; at + kWidth <= width; at += kWidth) {
    const Block part = *reinterpret_cast<const Block*>(query + at);
    for (int k = 0; k < kKeys; ++k) {
      const float* const key = keys + k * stride + at;
      if (at % kLanes == 0) __builtin_prefetch(key + kKeysAhead * stride);
      const Block loaded = *reinterpret_cast<const Block*>(key);
      sum[k] += part * loaded;
      if constexpr (kSquares) square[k] += loaded * loaded;
    }
  }
  for (int k = 0; k < kKeys; ++k) {
    float total = 0;
    for (int i = 0; i < kWidth; ++i) total += sum[k][i];
    for (std::int64_t rest = at; rest < width; ++rest)
      total += query[rest] * keys[k * stride + rest];
    scores[k] = total;
    if constexpr (kSquares) {
      float of_key = 0;
      for (int i = 0; i < kWidth; ++i) of_key += square[k][i];
      for (std::int64_t rest = at; rest < width; ++rest)
        of_key += keys[k * stride + rest] * keys[k * stride + rest];
      squares[k] = of_key;
    }
  }
}

template <bool kSquares>
void dots_of(const float* query, std::int64_t width, const float* keys, std::int64_t stride,
             std::int64_t count, float* scores, float* squares) {
  std::int64_t k = 0;
  const auto at = [&] { return kSquares ? squares + k : nullptr; };
  for (; k + 4 <= count; k += 4)
    dot_keys<4, kSquares>(query, width, keys + k * stride, stride, scores + k, at());
  for (; k < count; ++k)
    dot_keys<1, kSquares>(query, width, keys + k * stride, stride, scores + k, at());
}

inline void dots(const float* query, std::int64_t width, const float* keys, std::int64_t stride,
                 std::int64_t count, float* scores, float* squares) {
  if (squares != nullptr) {
    dots_of<true>(query, width, keys, stride, count, scores, squares);
  } else {
    dots_of<false>(query, width, keys, stride, count, scores, nullptr);
  }
}

}  // namespace
}  // namespace egret::backends::cpu
