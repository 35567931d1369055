// SPDX-License-Identifier: Apache-2.0
// Sizes of the tiles of a contraction whose columns slide over the right factor (window_form.h),
// and the places of what its micro-kernel reads.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backends/codegen/contractions/contraction_form.h"
#include "backends/codegen/contractions/contraction_tiles.h"
#include "backends/codegen/contractions/window_form.h"

namespace egret::backends::codegen {

constexpr std::int64_t kAddressBytes = 8;
constexpr std::int64_t kMostStatements = 700;  // of a micro-kernel's tile

// Sums in registers: `tile_rows` lines of `vectors` vectors.
struct WindowTiles {
  int lanes = 1, vectors = 1, tile_rows = 1;
  std::int64_t band = 1;  // lines of a step
  // The micro-kernel reads lines where they lie, through a table of addresses. Else it reads
  // copies.
  bool in_place = false;
  bool operator==(const WindowTiles&) const = default;
};

// `element` bytes of a term and of a sum. `in_place` where the form allows it. nullopt if the
// window has too many terms for a text without loops over them. Deterministic.
std::optional<WindowTiles> window_tiles(const ContractionForm& form, const WindowForm& window,
                                        const HostProcessor& processor, int element, bool in_place);

// Other tiles for measurements, those first that a simple model expects to be fastest.
std::vector<WindowTiles> other_window_tiles(const ContractionForm& form, const WindowForm& window,
                                            const HostProcessor& processor, int element,
                                            bool in_place);

// Copied lines, in elements. The positions of a line with a stride lie phase by phase, so that
// neighbouring columns read neighbours. With lanes in the batch, each position is a vector.
struct WindowLayout {
  bool in_batch() const { return window->lanes_in_batch; }
  std::int64_t unit() const { return in_batch() ? tiles.lanes : 1; }  // elements of a position
  std::int64_t phases() const { return in_batch() || tiles.in_place ? 1 : window->line.stride; }
  std::int64_t line_vectors() const;
  std::int64_t phase_pitch() const;
  std::int64_t line_pitch() const { return phases() * phase_pitch(); }
  // Lines of a band, and of all windows of the outer variables, for one value of the others.
  std::int64_t band_lines() const { return window->rows.positions(tiles.band); }
  std::int64_t all_lines() const { return window->outer_windows() * band_lines(); }

  const WindowForm* window = nullptr;
  WindowTiles tiles{};
};

}  // namespace egret::backends::codegen
