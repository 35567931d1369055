// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/loops/product_tiles.h"

#include <utility>

#include "backends/cpu/loops/instruction_set.h"

namespace egret::backends::cpu {

#if defined(__x86_64__)
namespace {

using Block __attribute__((vector_size(64), aligned(4), may_alias)) = float;
static_assert(sizeof(Block) == kTileLanes * sizeof(float));

#define EGRET_IN_TILE __attribute__((target("arch=x86-64-v4"), always_inline)) inline

// Inline assembly fixes the order of the inner loop's instructions. GCC 12 reorders them and spills
// addresses to the stack, which costs 3 to 10 % in whole products.
EGRET_IN_TILE Block load(const float* from) {
  Block result;
  asm volatile("vmovups %1, %0" : "=v"(result) : "m"(*reinterpret_cast<const Block*>(from)));
  return result;
}
EGRET_IN_TILE Block broadcast(const float* from) {
  Block result;
  asm volatile("vbroadcastss %1, %0" : "=v"(result) : "m"(*from));
  return result;
}
EGRET_IN_TILE void multiply_add(Block& sum, const Block& a, const Block& b) {
  asm volatile("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
}

// One address serves three rows: each operand address is a register plus zero, one or two strides.
constexpr int kRowsOfAddress = 3;

// The sums of a tile in registers. The largest tile holds 9 x 3 sums, 3 vectors of the panel and
// one broadcast element: 31 of 32 vector registers. The 27 sums are independent, which hides the
// latency of multiply-add.
template <int kRows, int kVectors>
struct TileSums {
  Block sum[kRows][kVectors] = {};
  const float* left[kRowsOfAddress];
  std::int64_t left_stride;
  const float* panel;

  __attribute__((target("arch=x86-64-v4"), always_inline)) explicit TileSums(const Tile& tile)
      : left{tile.left, tile.left + kRowsOfAddress * tile.left_stride,
             tile.left + std::int64_t{2} * kRowsOfAddress * tile.left_stride},
        left_stride(tile.left_stride),
        panel(tile.panel) {}

  // Advances kSteps steps of the depth.
  template <int kSteps>
  EGRET_IN_TILE void advance() {
#pragma GCC unroll 2
    for (int step = 0; step < kSteps; ++step) {
      Block b[kVectors];
#pragma GCC unroll 3
      // Each vector of the panel is loaded once and used by all rows. Each element of the left
      // matrix is broadcast once and used by all vectors.
      for (int i = 0; i < kVectors; ++i)
        b[i] = load(panel + std::ptrdiff_t{step * kVectors + i} * kTileLanes);
#pragma GCC unroll 9
      for (int r = 0; r < kRows; ++r) {
        const Block a =
            broadcast(left[r / kRowsOfAddress] + r % kRowsOfAddress * left_stride + step);
#pragma GCC unroll 3
        for (int i = 0; i < kVectors; ++i) multiply_add(sum[r][i], a, b[i]);
      }
    }
    panel += std::ptrdiff_t{kSteps} * kVectors * kTileLanes;
#pragma GCC unroll 3
    for (const float*& address : left) address += kSteps;
  }
};

template <int kRows, int kVectors>
__attribute__((target("arch=x86-64-v4"))) void run_tile(const Tile& tile) {
  static_assert(kRows <= kTileRows && kTileRows == std::int64_t{kRowsOfAddress} * kRowsOfAddress);
  TileSums<kRows, kVectors> sums(tile);
  const float* next = tile.next;
  std::int64_t k = kPrefetchEvery;
  if (tile.stride <= kTileLanes) {  // one prefetch a step, without an inner loop
    for (; k <= tile.depth; k += kPrefetchEvery, next += tile.stride) {
      __builtin_prefetch(next, 0, 2);
      sums.template advance<kPrefetchEvery>();
    }
  } else {
    for (; k <= tile.depth; k += kPrefetchEvery, next += tile.stride) {
      for (std::int64_t e = 0; e < tile.stride; e += kTileLanes) __builtin_prefetch(next + e, 0, 2);
      sums.template advance<kPrefetchEvery>();
    }
  }
  // kPrefetchEvery is 2, so at most one step remains.
  if (tile.depth % kPrefetchEvery != 0) sums.template advance<1>();
#pragma GCC unroll 9
  for (int r = 0; r < kRows; ++r) {
    float* const y = tile.result + r * kResultStride;
#pragma GCC unroll 3
    for (int i = 0; i < kVectors; ++i) {
      Block& to = *reinterpret_cast<Block*>(y + i * kTileLanes);
      to = tile.adds ? to + sums.sum[r][i] : sums.sum[r][i];
    }
  }
}

// The tiles of one width, indexed by the number of rows. Entry 0 is never called.
template <int kVectors, int... kRows>
constexpr std::array<TileFunction, kTileRows + 1> tiles_of(
    std::integer_sequence<int, kRows...> /*rows*/) {
  return {nullptr, run_tile<kRows + 1, kVectors>...};
}
constexpr auto kRows = std::make_integer_sequence<int, kTileRows>();
constexpr TileFunctions kTiles{{{}, tiles_of<1>(kRows), tiles_of<2>(kRows), tiles_of<3>(kRows)}};

}  // namespace

const TileFunctions* tile_functions() {
  return best_of<const TileFunctions*>({nullptr, nullptr, &kTiles});
}
#else
const TileFunctions* tile_functions() { return nullptr; }
#endif

}  // namespace egret::backends::cpu
