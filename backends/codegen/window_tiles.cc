// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/codegen/window_writer.h"

namespace egret::backends::codegen {
namespace {

constexpr std::int64_t kMostStatements = 700;  // of a micro-kernel's tile
constexpr int kHeldWeights = 9;

}  // namespace

std::optional<WindowTiles> window_tiles(const ContractionForm& form, const WindowForm& window,
                                        const HostProcessor& processor, int element) {
  WindowTiles tiles;
  const std::int64_t line = window.line.extent;
  tiles.lanes = processor.vector_bytes / element;
  // Narrower vectors where fewer of their lanes lie behind the end of a line.
  const std::int64_t along = window.lanes_in_batch ? form.batch : line;
  for (int lanes = tiles.lanes / 2; lanes * element >= 16; lanes /= 2) {
    if (ceil_div(along, lanes) * lanes < ceil_div(along, tiles.lanes) * tiles.lanes)
      tiles.lanes = lanes;
  }
  const std::int64_t vectors = window.lanes_in_batch ? line : ceil_div(line, tiles.lanes);
  // Registers hold the sums, the weights of small windows, and two vectors.
  const std::int64_t held = std::min<std::int64_t>(window.window, kHeldWeights);
  std::int64_t sums = processor.registers - 2 - (processor.registers < 32 ? held / 2 : held);
  sums = std::min(sums, kMostStatements / window.window);
  if (sums < 1) return std::nullopt;
  tiles.vectors = static_cast<int>(vectors >= 2 && sums >= 4 ? 2 : 1);
  if (window.rows.extent < 4) {
    // Few lines leave registers for more vectors.
    const std::int64_t most = std::max<std::int64_t>(1, sums / window.rows.extent);
    tiles.vectors = static_cast<int>(std::min({most, vectors, std::int64_t{8}}));
  }
  tiles.tile_rows = static_cast<int>(equal_part(
      window.rows.extent, std::min<std::int64_t>(sums / tiles.vectors, tiles.vectors > 1 ? 6 : 8)));

  // A band that stays in the first-level cache.
  const std::int64_t positions = window.line.positions(line);
  std::int64_t windows = window.other_terms;
  for (const auto& axis : window.outer) windows *= axis.window;
  const std::int64_t bytes =
      windows * element * (window.lanes_in_batch ? positions * tiles.lanes : positions);
  const std::int64_t lines = processor.left_panel / bytes;
  std::int64_t most = (lines - window.rows.reach()) / window.rows.stride + 1;
  // Work for each thread.
  const std::int64_t batches =
      (window.lanes_in_batch ? ceil_div(form.batch, tiles.lanes) : form.batch) *
      window.outer_extent();
  if (batches < 2L * processor.threads)
    most = std::min(most, ceil_div(window.rows.extent, ceil_div(2L * processor.threads, batches)));
  most = most / tiles.tile_rows * tiles.tile_rows;
  tiles.band =
      ceil_div(equal_part(window.rows.extent, std::max<std::int64_t>(most, tiles.tile_rows)),
               tiles.tile_rows) *
      tiles.tile_rows;
  tiles.band = std::min(tiles.band, window.rows.extent);
  return tiles;
}

}  // namespace egret::backends::codegen
