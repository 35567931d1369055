// SPDX-License-Identifier: Apache-2.0
// Tiles that may be faster than those of contraction_tiles() and window_tiles().
#include <algorithm>
#include <cmath>

#include "backends/codegen/contractions/contraction_text.h"
#include "backends/codegen/contractions/contraction_tiles.h"
#include "backends/codegen/contractions/window_tiles.h"

namespace egret::backends::codegen {
namespace {

constexpr int kMostVectors = 4;
// In cycles. A load takes half of one, as a multiplication of vectors does; a copied element that
// is not a vector's takes one.
constexpr double kLoad = 0.5, kMultiply = 0.5, kScalarCopy = 1;
// Each sum of a tile waits this long for the one before.
constexpr double kLatency = 4;

double count(std::int64_t value) { return static_cast<double>(value); }

// Of a contraction with these tiles: cycles of one thread.
double cycles(const ContractionForm& form, const ContractionTiles& tiles) {
  const double rows = tiles.tile_rows, vectors = tiles.vectors;
  const double term = std::max({rows * vectors * kMultiply, (rows + vectors) * kLoad, kLatency});
  const double tile_count =
      count(ceil_div(form.rows, tiles.tile_rows)) * count(ceil_div(form.columns, tiles.width()));
  const double depth = count(form.depth);
  double total = tile_count * depth * term;
  // Sums that wait are stored and loaded between blocks of terms.
  total += tile_count * rows * vectors * 2 * kLoad * count(ceil_div(form.depth, tiles.depth_block));
  if (tiles.pack_right) {
    total += depth * count(form.columns) / tiles.lanes * 2 * kLoad *
             count(ceil_div(form.rows, tiles.row_block));
  }
  if (tiles.pack_left) {
    total +=
        depth * count(form.rows) * kScalarCopy * count(ceil_div(form.columns, tiles.column_block));
  }
  return total * count(form.batch);
}

// Blocks of the given shape of a tile, as contraction_tiles() sizes them, times `scale`.
void set_blocks(const ContractionForm& form, const HostProcessor& processor, int element,
                double scale, ContractionTiles& tiles) {
  const auto scaled = [&](std::int64_t bytes) {
    return static_cast<std::int64_t>(scale * static_cast<double>(bytes));
  };
  const std::int64_t width = tiles.width();
  const std::int64_t deepest =
      std::max<std::int64_t>(1, std::min(scaled(processor.left_panel) / (element * tiles.tile_rows),
                                         scaled(processor.right_block) / (element * width)));
  tiles.depth_block = equal_part(form.depth, deepest);
  const std::int64_t most_sums = processor.sums / element;
  std::int64_t columns = scaled(processor.right_block) / (element * tiles.depth_block);
  tiles.row_block = form.rows;
  if (tiles.depth_block < form.depth) {
    const auto square = static_cast<std::int64_t>(std::sqrt(count(most_sums)));
    columns = std::min(columns, std::max({most_sums / form.rows, square, 4 * width}));
  }
  const auto blocks_of = [&](std::int64_t most) {
    const std::int64_t units = ceil_div(form.columns, width);
    return std::min(form.columns, equal_part(units, most / width) * width);
  };
  tiles.column_block = blocks_of(columns);
  if (tiles.depth_block < form.depth) {
    const std::int64_t units = ceil_div(form.rows, tiles.tile_rows);
    const std::int64_t most = most_sums / (tiles.column_block + width) / tiles.tile_rows;
    tiles.row_block = std::min(form.rows, equal_part(units, most) * tiles.tile_rows);
  }
  // Work for each thread.
  while (processor.threads > 1 && tiles.column_block > 2 * width &&
         form.batch * ceil_div(form.columns, tiles.column_block) *
                 ceil_div(form.rows, tiles.row_block) <
             2L * processor.threads)
    tiles.column_block = blocks_of(tiles.column_block / 2);
}

template <typename Tiles>
void add_new(std::vector<Tiles>& all, const Tiles& tiles) {
  if (std::ranges::find(all, tiles) == all.end()) all.push_back(tiles);
}

}  // namespace

std::vector<ContractionTiles> other_contraction_tiles(const ContractionForm& form,
                                                      const HostProcessor& processor, int element,
                                                      const InPlace& in_place) {
  const ContractionTiles first = contraction_tiles(form, processor, element, in_place);
  std::vector<ContractionTiles> all{first};
  for (const double scale : {0.5, 2.0}) {
    if (!in_place.amx) break;
    ContractionTiles tiles = first;
    set_blocks(form, processor, element, scale, tiles);
    add_new(all, tiles);
  }
  const std::int64_t wanted = ceil_div(form.columns, first.lanes);
  for (int vectors = 1; !in_place.amx && vectors <= std::min<std::int64_t>(kMostVectors, wanted);
       ++vectors) {
    const int most = (processor.registers - 1 - vectors) / vectors;
    for (const int rows : {most, most - 1, most / 2}) {
      if (rows < 1) continue;
      for (const double scale : {1.0, 0.5, 2.0}) {
        for (const bool pack_left : {true, false}) {
          for (const bool pack_right : {true, false}) {
            if ((!pack_left && !in_place.left) || (!pack_right && !in_place.right)) continue;
            ContractionTiles tiles = first;
            tiles.vectors = vectors;
            tiles.tile_rows = static_cast<int>(equal_part(form.rows, rows));
            tiles.pack_left = pack_left;
            tiles.pack_right = pack_right;
            set_blocks(form, processor, element, scale, tiles);
            add_new(all, tiles);
          }
        }
      }
    }
  }
  all.erase(all.begin());
  std::ranges::stable_sort(all, {}, [&](const auto& tiles) { return cycles(form, tiles); });
  return all;
}

std::vector<WindowTiles> other_window_tiles(const ContractionForm& form, const WindowForm& window,
                                            const HostProcessor& processor, int element,
                                            bool in_place) {
  const auto first = window_tiles(form, window, processor, element, in_place);
  if (!first) return {};
  std::vector<WindowTiles> all{*first};
  const auto cost = [&](const WindowTiles& tiles) {
    const std::int64_t along = window.lanes_in_batch ? form.batch : window.line.extent;
    const double vectors = count(ceil_div(along, tiles.lanes));
    const double rows = tiles.tile_rows;
    const double lines = count(window.rows.positions(tiles.tile_rows));
    const double window_terms = count(window.window);
    const double line_terms = count(window.line.window);
    // Of one vector of a tile: loads, and multiplications that wait for one another.
    const double loads = lines * line_terms * kLoad * (tiles.in_place ? 1 : 2);
    const double sums =
        window_terms * std::max(rows * kMultiply, kLatency / static_cast<double>(tiles.vectors));
    const double share = 0.5 + 0.5 * tiles.lanes * element / processor.vector_bytes;
    return (loads + sums) * share * vectors * count(ceil_div(window.rows.extent, tiles.tile_rows));
  };
  for (const int lanes : {first->lanes, first->lanes / 2, first->lanes * 2}) {
    if (lanes * element < 16 || lanes * element > processor.vector_bytes) continue;
    for (const int vectors : {1, 2, 3, 4}) {
      for (const int rows : {4, 6, 8, 10, 14}) {
        WindowTiles tiles = *first;
        tiles.lanes = lanes;
        tiles.vectors = static_cast<int>(std::min<std::int64_t>(
            vectors,
            window.lanes_in_batch ? window.line.extent : ceil_div(window.line.extent, lanes)));
        tiles.tile_rows = static_cast<int>(equal_part(window.rows.extent, rows));
        const int sums = tiles.vectors * tiles.tile_rows;
        if (sums > processor.registers - 4 || sums * window.window > kMostStatements) continue;
        tiles.band =
            std::min(window.rows.extent,
                     std::max(first->band / tiles.tile_rows, std::int64_t{1}) * tiles.tile_rows);
        if (first->band == window.rows.extent) tiles.band = window.rows.extent;
        add_new(all, tiles);
      }
    }
  }
  all.erase(all.begin());
  std::ranges::stable_sort(all, {}, cost);
  return all;
}

}  // namespace egret::backends::codegen
