// SPDX-License-Identifier: Apache-2.0
// The text of the micro-kernel of a contraction whose columns slide over the right factor.
//
// Some lines of a few vectors of sums stay in registers. A vector of the right factor serves all of
// these lines that read it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "backends/codegen/contractions/contraction_form.h"
#include "backends/codegen/contractions/window_tiles.h"

namespace egret::backends::codegen {

// Neighbouring positions of a line that no guard excludes: first <= position < last.
struct LineBounds {
  std::int64_t first = 0, last = 0;
};

class WindowKernel {
 public:
  // `bounds` are those of all lines that are read in place.
  WindowKernel(const ContractionForm& form, const WindowLayout& layout, std::string type,
               int element, LineBounds bounds)
      : form_(form),
        window_(*layout.window),
        layout_(layout),
        tiles_(layout.tiles),
        type_(std::move(type)),
        element_(element),
        bounds_(bounds) {}

  // static void KERNEL_linesN(image, weights, sums) for N lines. `image` is the copy of the first
  // position, or the table of addresses at the first line. `sums` has the lines' whole vectors.
  std::string text(int lines) const;

 private:
  // `x` is the number of the first vector where it is known.
  std::string tile(int lines, int vectors, std::optional<std::int64_t> x) const;
  std::string line_in_place(int v, std::optional<std::int64_t> x) const;
  std::string lanes(const std::string& name, std::int64_t offset,
                    std::optional<std::int64_t> x) const;
  std::string operand(std::int64_t offset, std::int64_t k, int v,
                      std::optional<std::int64_t> x) const;
  std::string weight(std::int64_t number) const;
  std::uint64_t read_lanes(std::int64_t offset, std::int64_t x) const;
  bool is_whole(std::int64_t x, int vectors) const;
  std::int64_t term_number(const std::map<int, std::int64_t>& values) const;

  const ContractionForm& form_;
  const WindowForm& window_;
  const WindowLayout& layout_;
  const WindowTiles& tiles_;
  std::string type_;
  int element_;
  LineBounds bounds_;
};

}  // namespace egret::backends::codegen
