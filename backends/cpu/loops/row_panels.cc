// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/loops/row_panels.h"

#include "backends/cpu/loops/instruction_set.h"
#include "backends/cpu/loops/row_panel_loops.h"

namespace egret::backends::cpu {

std::vector<Panel> panels_of(std::int64_t rows, std::int64_t columns) {
  std::vector<Panel> panels;
  std::int64_t at = 0;
  // Greedy: panels of four vectors, then at most one of two and one of one. The padding is below
  // one vector.
  for (std::int64_t first = 0; first < columns;) {
    const std::int64_t left = (columns - first + kLanes - 1) / kLanes;
    const int vectors = left >= 4 ? 4 : left >= 2 ? 2 : 1;
    panels.push_back({first, at, vectors});
    at += rows * vectors * kLanes;
    first += vectors * kLanes;
  }
  return panels;
}

// One function for each instruction set; the processor decides at run time.
PanelFunction best_panel() {
#if defined(__x86_64__)
  return best_of<PanelFunction>({multiply<F32Weights>, f32_panel_v3, f32_panel_v4});
#else
  return multiply<F32Weights>;
#endif
}

PanelFunction best_bf16_panel() {
#if defined(__x86_64__)
  return best_of<PanelFunction>({multiply<Bf16Weights>, bf16_panel_v3, bf16_panel_v4});
#else
  return multiply<Bf16Weights>;
#endif
}

DotsFunction best_dots() {
#if defined(__x86_64__)
  return best_of<DotsFunction>({dots, dots_v3, dots_v4});
#else
  return dots;
#endif
}

}  // namespace egret::backends::cpu
