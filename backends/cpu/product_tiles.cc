// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/product_tiles.h"

#include "backends/cpu/instruction_set.h"

namespace egret::backends::cpu {

#if defined(__x86_64__)
namespace {

using Block __attribute__((vector_size(64), aligned(4), may_alias)) = float;
constexpr std::int64_t kLanes = 16;

template <int kRows>
__attribute__((target("arch=x86-64-v4"))) void run_tile(const Tile& tile) {
  Block sum[kRows][2] = {};
  const float* w = tile.panel;
  const float* next = tile.next;
  for (std::int64_t k = 0; k < tile.depth; ++k, w += kTileColumns) {
    if (k % kPrefetchEvery == 0) {
      for (std::int64_t e = 0; e < tile.stride; e += kLanes) __builtin_prefetch(next + e, 0, 2);
      next += tile.stride;
    }
    const Block low = *reinterpret_cast<const Block*>(w);
    const Block high = *reinterpret_cast<const Block*>(w + kLanes);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const float x = tile.left[r * kLeftStride + k];
      sum[r][0] += x * low;
      sum[r][1] += x * high;
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
    float* const y = tile.result + r * kResultStride;
    for (int i = 0; i < 2; ++i) {
      Block& to = *reinterpret_cast<Block*>(y + i * kLanes);
      to = tile.adds ? to + sum[r][i] : sum[r][i];
    }
  }
}

constexpr TileFunctions kTiles{nullptr,      run_tile<1>,  run_tile<2>, run_tile<3>, run_tile<4>,
                               run_tile<5>,  run_tile<6>,  run_tile<7>, run_tile<8>, run_tile<9>,
                               run_tile<10>, run_tile<11>, run_tile<12>};

}  // namespace

const TileFunctions* tile_functions() {
  return best_of<const TileFunctions*>({nullptr, nullptr, &kTiles});
}
#else
const TileFunctions* tile_functions() { return nullptr; }
#endif

}  // namespace egret::backends::cpu
