// SPDX-License-Identifier: Apache-2.0
#include "backends/codegen/contractions/window_tiles.h"

#include <algorithm>

#include "backends/codegen/contractions/contraction_text.h"

namespace egret::backends::codegen {
namespace {

constexpr int kHeldWeights = 9;

}  // namespace

std::optional<WindowTiles> window_tiles(const ContractionForm& form, const WindowForm& window,
                                        const HostProcessor& processor, int element,
                                        bool in_place) {
  WindowTiles tiles;
  tiles.in_place = in_place;
  const std::int64_t line = window.line.extent;
  const int most_lanes = processor.vector_bytes / element;
  tiles.lanes = most_lanes;
  // Narrower vectors leave fewer lanes idle behind the end of a line. A vector of half the lanes
  // takes from a half to all of the time, so it counts as three quarters.
  const std::int64_t along = window.lanes_in_batch ? form.batch : line;
  const auto cost = [&](int lanes) { return ceil_div(along, lanes) * (most_lanes + lanes); };
  for (int lanes = most_lanes / 2; lanes * element >= 16; lanes /= 2) {
    if (cost(lanes) < cost(tiles.lanes)) tiles.lanes = lanes;
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

  // A band that stays in the first-level cache, or its addresses.
  const std::int64_t positions = window.line.positions(line);
  const std::int64_t copied =
      element * (window.lanes_in_batch ? positions * tiles.lanes : positions);
  const std::int64_t bytes =
      window.other_terms * window.outer_windows() * (in_place ? kAddressBytes : copied);
  const std::int64_t lines = processor.left_panel / bytes;
  std::int64_t most = (lines - window.rows.reach()) / window.rows.stride + 1;
  // Work for each thread.
  const std::int64_t batches =
      (window.lanes_in_batch ? ceil_div(form.batch, tiles.lanes) : form.batch) *
      window.outer_extent();
  if (batches < 2L * processor.threads)
    most = std::min(most, ceil_div(window.rows.extent, ceil_div(2L * processor.threads, batches)));
  const std::int64_t tile_count = ceil_div(window.rows.extent, tiles.tile_rows);
  tiles.band = std::min(window.rows.extent,
                        equal_part(tile_count, most / tiles.tile_rows) * tiles.tile_rows);
  return tiles;
}

std::int64_t WindowLayout::line_vectors() const {
  return in_batch() ? window->line.extent : ceil_div(window->line.extent, tiles.lanes);
}

// From each phase the micro-kernel reads whole vectors, shifted by the window.
std::int64_t WindowLayout::phase_pitch() const {
  const WindowForm::Axis& line = window->line;
  if (in_batch()) return line.positions(line.extent) * unit();
  const std::int64_t read = line_vectors() * tiles.lanes + (line.reach() - 1) / line.stride;
  return ceil_div(read, tiles.lanes) * tiles.lanes;
}

}  // namespace egret::backends::codegen
