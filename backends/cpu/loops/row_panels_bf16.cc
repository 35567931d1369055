// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/loops/instruction_set.h"
#include "backends/cpu/loops/row_panels.h"

namespace egret::backends::cpu {
namespace {

using Block __attribute__((vector_size(64), aligned(4), may_alias)) = float;
using Words __attribute__((vector_size(64), aligned(4), may_alias)) = std::uint32_t;

// A column of two rows of weights, as f32: the low half is the even row's.
#define EGRET_EVEN(words) reinterpret_cast<Block>((words) << 16)
#define EGRET_ODD(words) reinterpret_cast<Block>((words)&0xffff0000U)

// As the panels of f32 (row_panels.cc), a pair of rows a time.
#define EGRET_BF16_PANEL(suffix, target)                                                       \
  template <int kVectors>                                                                      \
  target void panel_##suffix(const float* x, const float* w, std::int64_t rows, float* y) {    \
    Block total[kVectors] = {};                                                                \
    for (std::int64_t row = 0; row < rows;) {                                                  \
      const std::int64_t end = rows - row < kRun ? rows : row + kRun;                          \
      Block even[kVectors] = {}, odd[kVectors] = {};                                           \
      for (; row + 2 <= end; row += 2, w += kVectors * kLanes) {                               \
        for (int i = 0; i < kVectors; ++i) {                                                   \
          __builtin_prefetch(w + i * kLanes + kAhead);                                         \
          const Words words = *reinterpret_cast<const Words*>(w + i * kLanes);                 \
          even[i] += x[row] * EGRET_EVEN(words);                                               \
          odd[i] += x[row + 1] * EGRET_ODD(words);                                             \
        }                                                                                      \
      }                                                                                        \
      for (; row < end; ++row, w += kVectors * kLanes) {                                       \
        for (int i = 0; i < kVectors; ++i)                                                     \
          even[i] += x[row] * EGRET_EVEN(*reinterpret_cast<const Words*>(w + i * kLanes));     \
      }                                                                                        \
      for (int i = 0; i < kVectors; ++i) total[i] += even[i] + odd[i];                         \
    }                                                                                          \
    for (int i = 0; i < kVectors; ++i) *reinterpret_cast<Block*>(y + i * kLanes) = total[i];   \
  }                                                                                            \
  template <int kRows, int kVectors>                                                           \
  target const float* panel_##suffix(const Rows& x, const float* w, std::int64_t rows,         \
                                     const Rows& y, const float* next, std::int64_t step) {    \
    Block total[kRows][kVectors] = {};                                                         \
    for (std::int64_t row = 0; row < rows;) {                                                  \
      const std::int64_t end = rows - row < kRun ? rows : row + kRun;                          \
      Block sum[kRows][kVectors] = {};                                                         \
      for (; row < end; row += 2, w += kVectors * kLanes, next += step) {                      \
        for (std::int64_t e = 0; e < step; e += kLanes) __builtin_prefetch(next + e, 0, 2);    \
        for (int i = 0; i < kVectors; ++i) {                                                   \
          const Words words = *reinterpret_cast<const Words*>(w + i * kLanes);                 \
          const Block even = EGRET_EVEN(words), odd = EGRET_ODD(words);                        \
          for (int r = 0; r < kRows; ++r) sum[r][i] += x.data[r * x.stride + row] * even;      \
          if (row + 1 == end) continue;                                                        \
          for (int r = 0; r < kRows; ++r) sum[r][i] += x.data[r * x.stride + row + 1] * odd;   \
        }                                                                                      \
      }                                                                                        \
      row = end;                                                                               \
      for (int r = 0; r < kRows; ++r) {                                                        \
        for (int i = 0; i < kVectors; ++i) total[r][i] += sum[r][i];                           \
      }                                                                                        \
    }                                                                                          \
    for (int r = 0; r < kRows; ++r) {                                                          \
      for (int i = 0; i < kVectors; ++i)                                                       \
        *reinterpret_cast<Block*>(y.data + r * y.stride + i * kLanes) = total[r][i];           \
    }                                                                                          \
    return next;                                                                               \
  }                                                                                            \
  template <int kVectors>                                                                      \
  target void panel_rows_##suffix(Rows x, const float* w, std::int64_t rows, Rows y,           \
                                  std::int64_t count) {                                        \
    if (count == 1) return panel_##suffix<kVectors>(x.data, w, rows, y.data);                  \
    const float* next = w + (rows + 1) / 2 * kVectors * kLanes;                                \
    const std::int64_t step = kVectors * kLanes / count;                                       \
    for (; count >= 4; count -= 4, x.data += 4 * x.stride, y.data += 4 * y.stride)             \
      next = panel_##suffix<4, kVectors>(x, w, rows, y, next, 4 * step);                       \
    for (; count >= 2; count -= 2, x.data += 2 * x.stride, y.data += 2 * y.stride)             \
      next = panel_##suffix<2, kVectors>(x, w, rows, y, next, 2 * step);                       \
    if (count > 0) panel_##suffix<kVectors>(x.data, w, rows, y.data);                          \
  }                                                                                            \
  target void panel_of_##suffix(int vectors, const Rows& x, const float* w, std::int64_t rows, \
                                const Rows& y, std::int64_t count) {                           \
    if (vectors == 4) {                                                                        \
      panel_rows_##suffix<4>(x, w, rows, y, count);                                            \
    } else if (vectors == 2) {                                                                 \
      panel_rows_##suffix<2>(x, w, rows, y, count);                                            \
    } else {                                                                                   \
      panel_rows_##suffix<1>(x, w, rows, y, count);                                            \
    }                                                                                          \
  }
constexpr std::int64_t kAhead = 512;  // words
constexpr std::int64_t kRun = 128;    // rows; even
EGRET_BF16_PANEL(generic, )
#if defined(__x86_64__)
EGRET_BF16_PANEL(v3, __attribute__((target("arch=x86-64-v3"))))
EGRET_BF16_PANEL(v4, __attribute__((target("arch=x86-64-v4"))))
#endif
#undef EGRET_BF16_PANEL
#undef EGRET_EVEN
#undef EGRET_ODD

}  // namespace

PanelFunction best_bf16_panel() {
#if defined(__x86_64__)
  return best_of<PanelFunction>({panel_of_generic, panel_of_v3, panel_of_v4});
#else
  return panel_of_generic;
#endif
}

}  // namespace egret::backends::cpu
