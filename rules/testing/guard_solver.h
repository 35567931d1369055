// SPDX-License-Identifier: Apache-2.0
// Finds small numbers that satisfy comparisons, by local search. Each step changes one number of a
// violated comparison to the value that leaves the fewest comparisons violated (as WalkSAT does:
// Selman, Kautz, Cohen, AAAI 1994). Finding none proves nothing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "base/random.h"
#include "ir/core/denotation.h"

namespace egret::rules {

// Starts from `numbers`, which contains all symbols of the guards by name. Sizes ("?...") and
// absolute values ("-...") are at least 1, others at least 0. The last violated guard is repaired
// first.
std::optional<std::map<std::string, std::int64_t, std::less<>>> solve_near(
    std::span<const ir::Guard> guards, std::map<std::string, std::int64_t, std::less<>> numbers,
    base::Random random);

}  // namespace egret::rules
