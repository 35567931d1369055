// SPDX-License-Identifier: Apache-2.0
// The inner loops of products of many rows: tiles of up to 12 rows and 32 columns, which stay in
// registers over a run of the depth (after Goto and van de Geijn, Anatomy of high-performance
// matrix multiplication, 2008).
//
// The right matrix is packed: runs of kTileDepth of its rows, of each run one panel of 32 columns
// behind the other, of each panel one row behind the other. A panel is used for all tiles of rows
// while it lies in the first-level cache, and the one after it is brought to the second meanwhile.
#pragma once

#include <array>
#include <cstdint>

namespace egret::backends::cpu {

inline constexpr std::int64_t kTileRows = 12;
inline constexpr std::int64_t kTileColumns = 32;
inline constexpr std::int64_t kTileDepth = 256;
inline constexpr std::int64_t kPrefetchEvery = 8;  // of the depth
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
};
using TileFunction = void (*)(const Tile&);

// By the number of rows, from 1 on; empty where the processor has not the 32 wide registers.
using TileFunctions = std::array<TileFunction, kTileRows + 1>;
const TileFunctions* tile_functions();

}  // namespace egret::backends::cpu
