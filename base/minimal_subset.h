// SPDX-License-Identifier: Apache-2.0
// Delta debugging: a small part of a list for which a test still holds (Zeller and Hildebrandt,
// "Simplifying and isolating failure-inducing input", IEEE Transactions on Software Engineering 28,
// 2002).
#pragma once

#include <cstddef>
#include <vector>

#include "base/function_ref.h"

namespace egret::base {

// `holds` is true of all of 0 ... count - 1; subsets are ascending. The result is 1-minimal:
// without any one element the test fails. Deterministic. Tests: O(count^2) at worst, O(k log count)
// where k elements matter and no others do. `holds` may say false of everything once it wants to
// end.
std::vector<std::size_t> minimal_subset(std::size_t count,
                                        FunctionRef<bool(const std::vector<std::size_t>&)> holds);

}  // namespace egret::base
