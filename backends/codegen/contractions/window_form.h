// SPDX-License-Identifier: Apache-2.0
// Contractions of few rows whose columns slide over the right factor: depthwise convolutions and
// their gradients, in any layout.
//
// Copied into panels of columns, each element of such a factor is copied once for each term of the
// window, and few rows share the copy. Instead, a band of the factor is copied once, and terms are
// read from it at offsets. A column variable x and a sum's variable k slide together if the factor
// depends on them by stride * x + dilation * k alone: the position.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backends/codegen/contractions/contraction_form.h"

namespace egret::backends::codegen {

struct WindowForm {
  // A column variable of the right factor, perhaps with a variable of the sum that slides with it.
  struct Axis {
    int column = -1, term = -1;             // symbols; -1: none
    std::int64_t extent = 1, window = 1;    // their numbers of values
    std::int64_t stride = 1, dilation = 1;  // dilation of either sign
    std::int64_t least() const { return dilation < 0 ? dilation * (window - 1) : 0; }
    std::int64_t reach() const { return (dilation < 0 ? -dilation : dilation) * (window - 1) + 1; }
    // Positions of `count` neighbouring values of the column variable.
    std::int64_t positions(std::int64_t count) const { return (count - 1) * stride + reach(); }
    // Of the element of the window's term k, from the first position of a column value on.
    std::int64_t offset(std::int64_t k) const { return dilation * k - least(); }
  };

  std::vector<Axis> outer;  // outermost first
  Axis rows, line;          // the last two column variables; rows may be of one value
  // Variables of the sum that slide with none, first in the order of terms, and their number of
  // values.
  std::vector<int> others;
  std::int64_t other_terms = 1;
  std::int64_t window = 1;  // terms for one value of the others
  // The lanes of vectors: columns of a line, or neighbours in the batch (channels last).
  bool lanes_in_batch = false;

  std::int64_t outer_extent() const;
  std::int64_t outer_windows() const;  // terms of the outer variables
};

// nullopt if no variable slides, if terms do not divide into the others and then the windows, if
// both stride and dilation are above 1, or if the left factor is guarded. Time: linear in the size
// of the nest, times its variables.
std::optional<WindowForm> window_form(const ContractionForm& form);

}  // namespace egret::backends::codegen
