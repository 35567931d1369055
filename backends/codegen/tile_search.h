// SPDX-License-Identifier: Apache-2.0
// The choice of tiles by measurement.
//
// A model ranks the tiles that a contraction could have (contractions/tile_candidates.cc). The
// model's own and the best few others are compiled and run in turns. The fastest is kept in the
// kernel cache: a file NAME.KEY.N-threads.tiles, where NAME is that of the kernel in the model's
// tiles, which depends on text and types, and KEY stands for the processor and the compiler. It has
// the number of the choice, the name of its kernel, without which a number would mean other tiles
// once the ranking changes, and all times where it was measured for this cache. The database of
// costs ($EGRET_COST_DB) gets all times, as those of a machine "emitted kernels / COMPILER / ..",
// and serves other caches.
#pragma once

#include <cstdint>
#include <span>

#include "backends/codegen/regions.h"
#include "ir/graph/graph.h"

namespace egret::backends::codegen {

// Those of the model, those that measured fastest where that was measured earlier, or measure now
// and keep the fastest.
enum class Tiles : std::uint8_t { kModel, kKept, kMeasured };

// $EGRET_TILES: "model", "kept" or "measured"; "kept" where it is not set or has another value.
Tiles wanted_tiles();

// Replaces the kernels of these regions of `graph` by those in the chosen tiles. Regions whose
// kernel has no other tiles stay. What was measured for another number of threads does not count.
// Without a compiler or a kernel cache, or where a file is damaged, the model's tiles stay.
// kMeasured: about 2 s for each contraction not measured before, most of it for the compiler.
void choose_tiles(const ir::Graph& graph, std::span<Region> regions, Tiles tiles, int threads);

}  // namespace egret::backends::codegen
