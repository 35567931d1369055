// SPDX-License-Identifier: Apache-2.0
// Values that are equal up to rounding, found by what they should be close to.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "ir/core/tensor.h"

namespace egret::driver {

// Whether all elements differ by at most `relative` times the largest element of `a`; elements
// that are no floating-point numbers by nothing. Widths of floating-point numbers may differ, as
// the interpreter computes in f64 and keeps constants as they are. O(elements).
bool are_near(const ir::Tensor& a, const ir::Tensor& b, double relative);

// The type without that width, and the sum of magnitudes to two digits: near values have the same
// key, or keys whose shift differs by 1. O(elements).
using NearKey = std::pair<std::string, std::int64_t>;
NearKey near_key(const ir::Tensor& value, int shift = 0);

}  // namespace egret::driver
