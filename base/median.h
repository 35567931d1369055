// SPDX-License-Identifier: Apache-2.0
// The median of samples, such as times.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace egret::base {

// Of an even number, the larger of the two in the middle; 0 of none. O(n).
inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace egret::base
