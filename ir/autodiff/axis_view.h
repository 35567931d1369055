// SPDX-License-Identifier: Apache-2.0
// Classifies how the index of one axis depends on loop variables.
#pragma once

#include <map>
#include <vector>

#include "ir/nest/loop_nest.h"

namespace egret::ir::autodiff {

// The range of each variable (symbol): low <= v <= high, not empty.
using Domain = std::map<int, Range>;
inline std::int64_t extent(Range range) { return range.high - range.low + 1; }

struct AxisView {
  enum class Kind : std::uint8_t {
    kBox,     // start + step * (position in the box of vars, the last runs fastest); in range
    kWindow,  // factors[0] * vars[0] + factors[1] * vars[1] + constant, as of a convolution
    kOther,
  };

  Kind kind = Kind::kOther;
  std::int64_t start = 0, step = 1;  // kBox: of the box's first element
  std::vector<int> vars{};
  std::vector<std::int64_t> factors{};  // kWindow
  std::int64_t constant = 0;            // kWindow
};

AxisView view_of(const Affine& form, std::int64_t size, const Domain& domain);

// The range of a form: variables range over the domain, other symbols over their range in the nest.
Range range_of(const Affine& form, const LoopNest& nest, const Domain& domain);

}  // namespace egret::ir::autodiff
