// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/steps/axis_order.h"

#include <algorithm>
#include <numeric>

namespace egret::backends::cuda {

ir::Integers axes_in_order(int rank) {
  ir::Integers axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), std::int64_t{0});
  return axes;
}

ir::Integers channels_behind(int rank) {
  ir::Integers axes = axes_in_order(rank);
  std::rotate(axes.begin() + 1, axes.begin() + 2, axes.end());
  return axes;
}

ir::Integers channels_before(int rank) {
  ir::Integers axes = axes_in_order(rank);
  std::rotate(axes.begin() + 1, axes.end() - 1, axes.end());
  return axes;
}

}  // namespace egret::backends::cuda
