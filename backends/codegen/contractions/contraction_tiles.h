// SPDX-License-Identifier: Apache-2.0
// Sizes of the tiles of a contraction on the host, from the vectors and caches of the processor
// (Goto, van de Geijn, "Anatomy of high-performance matrix multiplication", ACM TOMS 34(3), 2008;
// Low et al., "Analytical modeling is enough for high-performance BLIS", ACM TOMS 43(2), 2016).
#pragma once

#include <cstdint>
#include <vector>

#include "backends/codegen/contractions/contraction_form.h"

namespace egret::backends::codegen {

// The vector registers that the host compiler's code uses (-march=native), and bytes for what
// should stay in a cache.
struct HostProcessor {
  int vector_bytes = 16;
  int registers = 16;
  std::int64_t left_panel = 20 << 10;    // a tile's rows, in the first level
  std::int64_t right_block = 384 << 10;  // a block of columns, in the second level
  std::int64_t sums = 512 << 10;         // sums that wait for more terms
  int threads = 1;                       // that share the blocks
  std::int64_t least_part = 1024;        // terms that pay for adding up sums of parts
  // Of neighbouring terms (term_groups.h).
  bool has_bf16_pairs = false, has_int16_pairs = false, has_int8_quads = false;
  // AMX, which the system has permitted. Vectors have 64 bytes then.
  bool has_bf16_tiles = false, has_int8_tiles = false;

  static HostProcessor this_one();
};

// One tile of sums stays in registers: `tile_rows` rows of `vectors` vectors. Blocks of the
// operands are packed into panels: `depth_block` terms of `column_block` columns stay in the
// second-level cache, and those of `tile_rows` rows in the first.
struct ContractionTiles {
  int lanes = 1;      // elements of a vector
  int vectors = 1;    // of a tile's row
  int tile_rows = 1;  // but for the last tile of a block
  std::int64_t row_block = 1, column_block = 1, depth_block = 1;  // not above the form's sizes
  int parts = 1;  // of the terms, whose sums different threads compute
  // Whether a factor is copied into panels. Only a factor that is a plain read with constant
  // strides can be read in place.
  bool pack_left = true, pack_right = true;

  int width() const { return lanes * vectors; }  // columns of a panel
  bool operator==(const ContractionTiles&) const = default;
};

// What a form allows.
struct InPlace {
  bool left = false, right = false;
  std::int64_t left_stride = 0;  // of neighbouring rows, in elements
  bool amx = false;              // tiles of sums are those of AMX: 16 or 32 rows
};

// `element` bytes of a term and of a sum. Deterministic.
ContractionTiles contraction_tiles(const ContractionForm& form, const HostProcessor& processor,
                                   int element, const InPlace& in_place);

// Other tiles, by the cycles that a simple model expects, least first: other shapes of the tile of
// sums, smaller and larger blocks, operands copied or not. For measurements. Deterministic.
std::vector<ContractionTiles> other_contraction_tiles(const ContractionForm& form,
                                                      const HostProcessor& processor, int element,
                                                      const InPlace& in_place);

}  // namespace egret::backends::codegen
