// SPDX-License-Identifier: Apache-2.0
// Small numbers that satisfy comparisons, by local search: one number of a violated comparison is
// changed at a time, to the one that leaves the fewest violated (as WalkSAT does: Selman, Kautz,
// Cohen, AAAI 1994). Finding none says nothing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "base/random.h"
#include "ir/core/denotation.h"

namespace egret::rules {

// Near `numbers`, which has all symbols of the guards by name; sizes ("?...") are at least 1,
// others at least 0. The later of two violated guards is repaired first.
std::optional<std::map<std::string, std::int64_t, std::less<>>> solve_near(
    std::span<const ir::Guard> guards, std::map<std::string, std::int64_t, std::less<>> numbers,
    base::Random random);

}  // namespace egret::rules
