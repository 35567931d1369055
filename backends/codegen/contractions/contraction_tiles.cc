// SPDX-License-Identifier: Apache-2.0
#include "backends/codegen/contractions/contraction_tiles.h"

#include <algorithm>
#include <cmath>

#include "backends/backend.h"
#include "backends/codegen/contractions/amx.h"
#include "backends/codegen/contractions/contraction_text.h"

namespace egret::backends::codegen {
namespace {

// Rows of a left factor that is read in place must not all fall into one set of the first-level
// cache, whose sets repeat after this many bytes.
constexpr std::int64_t kSetsRepeat = 4096;
constexpr int kRowsInOneSet = 7;             // of 8 ways
constexpr std::int64_t kWorthPacking = 256;  // columns

// The largest equal parts of `total` that are at most `most`, rounded up to multiples of `unit`.
std::int64_t equal_parts(std::int64_t total, std::int64_t most, std::int64_t unit) {
  const std::int64_t parts = ceil_div(total, std::max(most, unit));
  return std::min(total, ceil_div(ceil_div(total, parts), unit) * unit);
}

// The tile of registers. Each term loads `vectors` vectors and `rows` scalars for rows * vectors
// multiplications, so a tile near a square (of loads) is best. Two registers are for operands.
void set_register_tile(const ContractionForm& form, const HostProcessor& processor, bool in_one_set,
                       ContractionTiles& tiles) {
  const std::int64_t wanted = ceil_div(form.columns, tiles.lanes);
  const auto vectors = [&](std::int64_t most) {
    tiles.vectors = static_cast<int>(std::min(wanted, most));
    return (processor.registers - 1 - tiles.vectors) / tiles.vectors;
  };
  int most = vectors(2);
  // Few rows leave registers for more vectors.
  if (form.rows <= (processor.registers - 2) / 4) {
    most = vectors(4);
  } else if (in_one_set) {
    most = std::min(vectors(processor.registers < 32 ? 2 : wanted == 4 ? 4 : 3), kRowsInOneSet);
  }
  // Tiles of equal heights: 64 rows as 5 tiles of 13, not 4 of 14 and one of 8.
  tiles.tile_rows = static_cast<int>(ceil_div(form.rows, ceil_div(form.rows, most)));
}

// Smaller blocks if threads could otherwise share none. Blocks of columns cost little. Each block
// of rows packs the columns again, hence one for each thread and no more.
void share(const ContractionForm& form, const HostProcessor& processor, ContractionTiles& tiles) {
  if (processor.threads <= 1) return;
  const auto blocks = [&] {
    return form.batch * ceil_div(form.columns, tiles.column_block) *
           ceil_div(form.rows, tiles.row_block);
  };
  while (blocks() < 2L * processor.threads && tiles.column_block > 2L * tiles.width())
    tiles.column_block = equal_parts(form.columns, tiles.column_block / 2, tiles.width());
  if (blocks() >= processor.threads) return;
  const std::int64_t parts = ceil_div(processor.threads, blocks());
  tiles.row_block = std::min(tiles.row_block,
                             equal_parts(form.rows, ceil_div(form.rows, parts), tiles.tile_rows));
}

// Parts of the terms for threads that would have no block of rows and columns.
void divide_terms(const ContractionForm& form, const HostProcessor& processor,
                  ContractionTiles& tiles) {
  const std::int64_t blocks = form.batch * ceil_div(form.columns, tiles.column_block) *
                              ceil_div(form.rows, tiles.row_block);
  const std::int64_t parts =
      std::min(ceil_div(processor.threads, blocks), form.depth / processor.least_part);
  if (parts < 2) return;
  tiles.parts = static_cast<int>(parts);
  tiles.depth_block = std::min(tiles.depth_block, ceil_div(form.depth, parts));
}

// Four tiles of sums leave two for each factor.
int amx_rows(const ContractionForm& form) { return form.rows > 16 ? 32 : 16; }

HostProcessor vectors_of_this_one() {
#if defined(__x86_64__) || defined(__i386__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
    return {64, 32};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {32, 16};
  return {16, 16};
#else
  return {16, 32};
#endif
}

}  // namespace

HostProcessor HostProcessor::this_one() {
  HostProcessor processor = vectors_of_this_one();
  processor.threads = available_threads();
#if defined(__x86_64__) || defined(__i386__)
  processor.has_bf16_pairs = processor.vector_bytes == 64 && __builtin_cpu_supports("avx512bf16");
  processor.has_int16_pairs = processor.vector_bytes == 64 && __builtin_cpu_supports("avx512vnni");
  processor.has_int8_quads = processor.has_int16_pairs;
  if (processor.vector_bytes == 64) {
    const AmxSupport amx = amx_support();
    processor.has_bf16_tiles = amx.bf16 && amx.int8;
    processor.has_int8_tiles = processor.has_bf16_tiles;
  }
#endif
  return processor;
}

ContractionTiles contraction_tiles(const ContractionForm& form, const HostProcessor& processor,
                                   int element, const InPlace& in_place) {
  ContractionTiles tiles;
  tiles.lanes = processor.vector_bytes / element;
  const bool in_one_set = in_place.left && (in_place.left_stride * element) % kSetsRepeat == 0;
  // Many columns pay for a copy of the rows.
  const bool reads_left = in_place.left && (!in_one_set || form.columns < kWorthPacking);
  if (in_place.amx) {
    tiles.tile_rows = amx_rows(form);
    tiles.vectors = form.columns > tiles.lanes ? 2 : 1;
  } else {
    set_register_tile(form, processor, in_one_set && reads_left, tiles);
  }
  const int rows = tiles.tile_rows, width = tiles.width();

  const std::int64_t deepest =
      std::min(processor.left_panel / (element * rows), processor.right_block / (element * width));
  tiles.depth_block = equal_parts(form.depth, deepest, 1);
  // All rows together use a packed block of columns, unless their sums are too many.
  const bool waits = tiles.depth_block < form.depth;
  const std::int64_t sums = processor.sums / element;
  std::int64_t columns = processor.right_block / (element * tiles.depth_block);
  if (waits) {
    // Each block of columns copies the rows again, unless they are read in place: then a square
    // block copies least.
    std::int64_t most = sums / form.rows;
    if (!reads_left)
      most = std::max(most, static_cast<std::int64_t>(std::sqrt(static_cast<double>(sums))));
    columns = std::min(columns, std::max<std::int64_t>(most, 4L * width));
  }
  tiles.column_block = equal_parts(form.columns, columns, width);
  tiles.row_block = form.rows;
  if (waits) tiles.row_block = equal_parts(form.rows, sums / (tiles.column_block + width), rows);
  share(form, processor, tiles);

  divide_terms(form, processor, tiles);

  tiles.pack_left = !reads_left;
  // A panel that at most two tiles read is read in place.
  tiles.pack_right = !in_place.right || form.rows > 2L * rows;
  return tiles;
}

}  // namespace egret::backends::codegen
