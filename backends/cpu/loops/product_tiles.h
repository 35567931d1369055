// SPDX-License-Identifier: Apache-2.0
// The inner loops of products of many rows: tiles of up to 9 rows and 48 columns, held in registers
// over a run of the depth (after Goto and van de Geijn, Anatomy of high-performance matrix
// multiplication, 2008). Of the shapes that fill 32 registers, this one reads the least per
// multiplication: 12 numbers for 27, where 12 rows of 32 columns read 14 for 24.
//
// The right matrix is packed: runs of kTileDepth of its rows; in each run, panels of 48 columns
// (the last may have 16 or 32); in each panel, row after row. All tiles of rows use a panel while
// it lies in the cache, and prefetch the next one meanwhile.
#pragma once

#include <array>
#include <cstdint>

namespace egret::backends::cpu {

inline constexpr std::int64_t kTileRows = 9;
inline constexpr std::int64_t kTileColumns = 48;
inline constexpr std::int64_t kTileDepth = 192;
inline constexpr std::int64_t kTileLanes = 16;     // columns that are computed together
inline constexpr std::int64_t kPrefetchEvery = 2;  // of the depth
// Row strides of the left matrix and of the result, in elements. They are not powers of two, so
// that rows do not share cache sets.
inline constexpr std::int64_t kLeftStride = kTileDepth + 16;
inline constexpr std::int64_t kResultStride = 768 + 16;

struct Tile {
  const float* left;
  const float* panel;
  std::int64_t depth;
  float* result;
  bool adds;            // to the result; else written over it
  const float* next;    // prefetched to the second-level cache,
  std::int64_t stride;  // in steps of this many elements each kPrefetchEvery
  // A runtime value on purpose: in a register it keeps the instructions short.
  std::int64_t left_stride = kLeftStride;
  std::int64_t result_stride = kResultStride;
};
using TileFunction = void (*)(const Tile&);

// Indexed by columns / kTileLanes and the number of rows, both from 1; null where the processor has
// neither AVX-512 nor AVX2.
using TileFunctions =
    std::array<std::array<TileFunction, kTileRows + 1>, kTileColumns / kTileLanes + 1>;
const TileFunctions* tile_functions();
// Whether 32 wide registers (AVX-512) hold a tile as a whole. With AVX2 it is computed in parts.
bool has_whole_tiles();

}  // namespace egret::backends::cpu
