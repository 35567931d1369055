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
    float* const y = tile.result + r * tile.result_stride;
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

// With 16 registers of 8 lanes a tile is computed in parts: up to four rows of 24 columns, or six
// of 16, whose 12 sums leave room for a line of the panel and one broadcast element.
#define EGRET_IN_PART __attribute__((target("arch=x86-64-v3"), always_inline)) inline
using Half __attribute__((vector_size(32), aligned(4), may_alias)) = float;
constexpr int kHalfLanes = 8;
static_assert(sizeof(Half) == kHalfLanes * sizeof(float));

EGRET_IN_PART Half load_half(const float* from) {
  Half result;
  asm volatile("vmovups %1, %0" : "=x"(result) : "m"(*reinterpret_cast<const Half*>(from)));
  return result;
}
EGRET_IN_PART Half broadcast_half(const float* from) {
  Half result;
  asm volatile("vbroadcastss %1, %0" : "=x"(result) : "m"(*from));
  return result;
}
EGRET_IN_PART void multiply_add_half(Half& sum, const Half& a, const Half& b) {
  asm volatile("vfmadd231ps %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));
}

// Rows [row, row + kRows) and columns [column, column + 8 kHalves) of a tile whose panel has
// `line` columns. The prefetch is that of all rows of the tile.
template <int kRows, int kHalves, bool kPrefetches>
EGRET_IN_PART void run_part(const Tile& tile, int row, int column, std::int64_t line) {
  static_assert(kRows <= 2 * kRowsOfAddress && kRows * kHalves <= 12);
  Half sum[kRows][kHalves] = {};
  const std::int64_t stride = tile.left_stride;
  const float* left[2] = {tile.left + row * stride, tile.left + (row + kRowsOfAddress) * stride};
  const float* panel = tile.panel + column;
  const float* next = tile.next;
  for (std::int64_t k = 0; k < tile.depth; ++k, panel += line) {
    if (kPrefetches && k % kPrefetchEvery == 0) {
      for (std::int64_t e = 0; e < tile.stride; e += kTileLanes) __builtin_prefetch(next + e, 0, 2);
      next += tile.stride;
    }
    Half b[kHalves];
#pragma GCC unroll 3
    for (int i = 0; i < kHalves; ++i) b[i] = load_half(panel + i * kHalfLanes);
#pragma GCC unroll 6
    for (int r = 0; r < kRows; ++r) {
      const Half a = broadcast_half(left[r / kRowsOfAddress] + r % kRowsOfAddress * stride + k);
#pragma GCC unroll 3
      for (int i = 0; i < kHalves; ++i) multiply_add_half(sum[r][i], a, b[i]);
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < kRows; ++r) {
    float* const y = tile.result + (row + r) * tile.result_stride + column;
#pragma GCC unroll 3
    for (int i = 0; i < kHalves; ++i) {
      Half& to = *reinterpret_cast<Half*>(y + i * kHalfLanes);
      to = tile.adds ? to + sum[r][i] : sum[r][i];
    }
  }
}

// All rows of a tile, in parts of equal heights.
template <int kRows, int kHalves, bool kPrefetches>
EGRET_IN_PART void run_rows(const Tile& tile, int column, std::int64_t line) {
  constexpr int kMost = 12 / kHalves;
  constexpr int kParts = (kRows + kMost - 1) / kMost;
  constexpr int kFirst = (kRows + kParts - 1) / kParts;
  run_part<kFirst, kHalves, kPrefetches>(tile, 0, column, line);
  if constexpr (kParts == 2) run_part<kRows - kFirst, kHalves, false>(tile, kFirst, column, line);
  if constexpr (kParts == 3) {
    constexpr int kSecond = (kRows - kFirst + 1) / 2;
    run_part<kSecond, kHalves, false>(tile, kFirst, column, line);
    run_part<kRows - kFirst - kSecond, kHalves, false>(tile, kFirst + kSecond, column, line);
  }
}

template <int kRows, int kVectors>
__attribute__((target("arch=x86-64-v3"))) void run_tile_by_parts(const Tile& tile) {
  constexpr std::int64_t kLine = kVectors * kTileLanes;
  if constexpr (kVectors == 3) {
    run_rows<kRows, 3, true>(tile, 0, kLine);
    run_rows<kRows, 3, false>(tile, 3 * kHalfLanes, kLine);
  } else {
    run_rows<kRows, 2, true>(tile, 0, kLine);
    if constexpr (kVectors == 2) run_rows<kRows, 2, false>(tile, 2 * kHalfLanes, kLine);
  }
}

template <int kVectors, int... kRows>
constexpr std::array<TileFunction, kTileRows + 1> tiles_by_parts_of(
    std::integer_sequence<int, kRows...> /*rows*/) {
  return {nullptr, run_tile_by_parts<kRows + 1, kVectors>...};
}
constexpr TileFunctions kTilesByParts{
    {{}, tiles_by_parts_of<1>(kRows), tiles_by_parts_of<2>(kRows), tiles_by_parts_of<3>(kRows)}};

}  // namespace

const TileFunctions* tile_functions() {
  return best_of<const TileFunctions*>({nullptr, &kTilesByParts, &kTiles});
}
bool has_whole_tiles() { return tile_functions() == &kTiles; }
#else
const TileFunctions* tile_functions() { return nullptr; }
bool has_whole_tiles() { return false; }
#endif

}  // namespace egret::backends::cpu
