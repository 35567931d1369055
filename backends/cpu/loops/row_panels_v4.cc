// SPDX-License-Identifier: Apache-2.0
// Compiled for x86-64-v4 (backends/CMakeLists.txt). Runs only where instruction_set.h chooses it,
// so nothing else may be defined here.
#include "backends/cpu/loops/row_panel_loops.h"

#if defined(__x86_64__)
namespace egret::backends::cpu {

void f32_panel_v4(int vectors, const Rows& x, const float* w, std::int64_t rows, const Rows& y,
                  std::int64_t count) {
  multiply<F32Weights>(vectors, x, w, rows, y, count);
}

void bf16_panel_v4(int vectors, const Rows& x, const float* w, std::int64_t rows, const Rows& y,
                   std::int64_t count) {
  multiply<Bf16Weights>(vectors, x, w, rows, y, count);
}

void dots_v4(const float* query, std::int64_t width, const float* keys, std::int64_t stride,
             std::int64_t count, float* scores, float* squares) {
  dots(query, width, keys, stride, count, scores, squares);
}

}  // namespace egret::backends::cpu
#endif
