// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/loops/row_panels.h"

#include "backends/cpu/loops/instruction_set.h"

namespace egret::backends::cpu {

std::vector<Panel> panels_of(std::int64_t rows, std::int64_t columns) {
  std::vector<Panel> panels;
  std::int64_t at = 0;
  for (std::int64_t first = 0; first < columns;) {
    const std::int64_t left = (columns - first + kLanes - 1) / kLanes;
    const int vectors = left >= 4 ? 4 : left >= 2 ? 2 : 1;
    panels.push_back({first, at, vectors});
    at += rows * vectors * kLanes;
    first += vectors * kLanes;
  }
  return panels;
}

namespace {

// Written with vectors and compiled for each instruction set by itself, as in pool_kernel.cc.
using Block __attribute__((vector_size(64), aligned(4), may_alias)) = float;

// Even and odd rows are summed apart, in panels of all widths: equal columns give equal results.
// Eight sums are then under way in the widest, so that additions wait for none before them. Sums of
// kRun rows are added up apart, so that the rounding error grows with the runs and not with the
// rows. The prefetch is for weights that lie in memory: it passes the ends of pages, where the
// processor's own stops.
#define EGRET_PANEL(suffix, target)                                                               \
  template <int kVectors>                                                                         \
  target void panel_##suffix(const float* x, const float* w, std::int64_t rows, float* y) {       \
    Block total[kVectors] = {};                                                                   \
    for (std::int64_t row = 0; row < rows;) {                                                     \
      const std::int64_t end = rows - row < kRun ? rows : row + kRun;                             \
      Block even[kVectors] = {}, odd[kVectors] = {};                                              \
      for (; row + 2 <= end; row += 2, w += 2 * kVectors * kLanes) {                              \
        for (int i = 0; i < kVectors; ++i) {                                                      \
          const float* const a = w + i * kLanes;                                                  \
          const float* const b = a + kVectors * kLanes;                                           \
          __builtin_prefetch(a + kAhead);                                                         \
          __builtin_prefetch(b + kAhead);                                                         \
          even[i] += x[row] * *reinterpret_cast<const Block*>(a);                                 \
          odd[i] += x[row + 1] * *reinterpret_cast<const Block*>(b);                              \
        }                                                                                         \
      }                                                                                           \
      for (; row < end; ++row, w += kVectors * kLanes) {                                          \
        for (int i = 0; i < kVectors; ++i)                                                        \
          even[i] += x[row] * *reinterpret_cast<const Block*>(w + i * kLanes);                    \
      }                                                                                           \
      for (int i = 0; i < kVectors; ++i) total[i] += even[i] + odd[i];                            \
    }                                                                                             \
    for (int i = 0; i < kVectors; ++i) *reinterpret_cast<Block*>(y + i * kLanes) = total[i];      \
  }                                                                                               \
  /* The same of several rows, which share each weight that is read; `next` is brought on. */     \
  template <int kRows, int kVectors>                                                              \
  target const float* panel_##suffix(const Rows& x, const float* w, std::int64_t rows,            \
                                     const Rows& y, const float* next, std::int64_t step) {       \
    Block total[kRows][kVectors] = {};                                                            \
    for (std::int64_t row = 0; row < rows;) {                                                     \
      const std::int64_t end = rows - row < kRun ? rows : row + kRun;                             \
      Block sum[kRows][kVectors] = {};                                                            \
      for (; row < end; ++row, w += kVectors * kLanes, next += step) {                            \
        for (std::int64_t e = 0; e < step; e += kLanes) __builtin_prefetch(next + e, 0, 2);       \
        for (int i = 0; i < kVectors; ++i) {                                                      \
          const Block weights = *reinterpret_cast<const Block*>(w + i * kLanes);                  \
          for (int r = 0; r < kRows; ++r) sum[r][i] += x.data[r * x.stride + row] * weights;      \
        }                                                                                         \
      }                                                                                           \
      for (int r = 0; r < kRows; ++r) {                                                           \
        for (int i = 0; i < kVectors; ++i) total[r][i] += sum[r][i];                              \
      }                                                                                           \
    }                                                                                             \
    for (int r = 0; r < kRows; ++r) {                                                             \
      for (int i = 0; i < kVectors; ++i)                                                          \
        *reinterpret_cast<Block*>(y.data + r * y.stride + i * kLanes) = total[r][i];              \
    }                                                                                             \
    return next;                                                                                  \
  }                                                                                               \
  /* While one panel is worked on, four rows at a time, the next one comes from memory: each time \
     as much of it as these rows are of all. */                                                   \
  template <int kVectors>                                                                         \
  target void panel_rows_##suffix(Rows x, const float* w, std::int64_t rows, Rows y,              \
                                  std::int64_t count) {                                           \
    if (count == 1) return panel_##suffix<kVectors>(x.data, w, rows, y.data);                     \
    const float* next = w + rows * kVectors * kLanes;                                             \
    const std::int64_t step = kVectors * kLanes / count;                                          \
    for (; count >= 4; count -= 4, x.data += 4 * x.stride, y.data += 4 * y.stride)                \
      next = panel_##suffix<4, kVectors>(x, w, rows, y, next, 4 * step);                          \
    for (; count >= 2; count -= 2, x.data += 2 * x.stride, y.data += 2 * y.stride)                \
      next = panel_##suffix<2, kVectors>(x, w, rows, y, next, 2 * step);                          \
    if (count > 0) panel_##suffix<kVectors>(x.data, w, rows, y.data);                             \
  }                                                                                               \
  target void panel_of_##suffix(int vectors, const Rows& x, const float* w, std::int64_t rows,    \
                                const Rows& y, std::int64_t count) {                              \
    if (vectors == 4) {                                                                           \
      panel_rows_##suffix<4>(x, w, rows, y, count);                                               \
    } else if (vectors == 2) {                                                                    \
      panel_rows_##suffix<2>(x, w, rows, y, count);                                               \
    } else {                                                                                      \
      panel_rows_##suffix<1>(x, w, rows, y, count);                                               \
    }                                                                                             \
  }
constexpr std::int64_t kAhead = 512;  // elements
constexpr std::int64_t kRun = 128;
EGRET_PANEL(generic, )
#if defined(__x86_64__)
EGRET_PANEL(v3, __attribute__((target("arch=x86-64-v3"))))
EGRET_PANEL(v4, __attribute__((target("arch=x86-64-v4"))))
#endif
#undef EGRET_PANEL

}  // namespace

PanelFunction best_panel() {
#if defined(__x86_64__)
  return best_of<PanelFunction>({panel_of_generic, panel_of_v3, panel_of_v4});
#else
  return panel_of_generic;
#endif
}

}  // namespace egret::backends::cpu
