// SPDX-License-Identifier: Apache-2.0
// Writes an operator's element as a device computes it, as a form of a table.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "parallel/laws/cut_form.h"

namespace egret::parallel {

struct WrittenForm {
  int form = 0;                       // of the element
  std::vector<AxisPlacement> inputs;  // of those that are not read: copies
  std::vector<Halo> needed;           // by input: the halo that its reads need
};

// `cut` is nullptr where no variable is cut. `halos`, by input, are nullptr where reads stay within
// their blocks; else the indices of an input begin at its halo's first row. Throws NotCut
// (index_arithmetic.h) where the element cannot be written.
WrittenForm write_form(const ir::Denotation& denotation, std::span<const ir::TensorType> types,
                       const Cut* cut, const std::vector<Halo>* halos, FormTable& table);

}  // namespace egret::parallel
