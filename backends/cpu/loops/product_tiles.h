// SPDX-License-Identifier: Apache-2.0
// The inner loops of products of many rows: tiles of up to 9 rows and 48 columns, which stay in
// registers over a run of the depth (after Goto and van de Geijn, Anatomy of high-performance
// matrix multiplication, 2008). Of the shapes that fill 32 registers this one reads the least for
// each multiplication: 12 numbers for 27, where 12 rows of 32 columns take 14 for 24.
//
// The right matrix is packed: runs of kTileDepth of its rows, of each run one panel of 48 columns
// behind the other (the last may have 16 or 32), of each panel one row behind the other. A panel is
// used for all tiles of rows while it lies near, and the one after it is brought near meanwhile.
#pragma once

#include <array>
#include <cstdint>

namespace egret::backends::cpu {

inline constexpr std::int64_t kTileRows = 9;
inline constexpr std::int64_t kTileColumns = 48;
inline constexpr std::int64_t kTileDepth = 192;
inline constexpr std::int64_t kTileLanes = 16;     // columns that are computed together
inline constexpr std::int64_t kPrefetchEvery = 2;  // of the depth
// Elements from one row of the left matrix to the next, which are not a power of two so that rows
// share no lines of the cache; and of the result.
inline constexpr std::int64_t kLeftStride = kTileDepth + 16;
inline constexpr std::int64_t kResultStride = 768 + 16;

struct Tile {
  const float* left;
  const float* panel;
  std::int64_t depth;  // at most kTileDepth
  float* result;
  bool adds;            // to the result; else written over it
  const float* next;    // is brought to the second-level cache,
  std::int64_t stride;  // so many elements each kPrefetchEvery
  // A value for the compiler, not a constant: kept in a register it leaves instructions short.
  std::int64_t left_stride = kLeftStride;
};
using TileFunction = void (*)(const Tile&);

// By columns / kTileLanes and the number of rows, both from 1 on; empty where the processor has not
// the 32 wide registers.
using TileFunctions =
    std::array<std::array<TileFunction, kTileRows + 1>, kTileColumns / kTileLanes + 1>;
const TileFunctions* tile_functions();

}  // namespace egret::backends::cpu
