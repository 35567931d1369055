// SPDX-License-Identifier: Apache-2.0
// Whether a rule holds of integers as tensors hold them.
//
// Rules are proven over integers without bounds, and elements are of 8 to 64 bits. Sums and
// products of such elements are those without bounds, modulo a power of two, so that what holds of
// sums and products alone holds of them; so does what only moves and compares elements, as nothing
// is too large then. What does both need not: max(x + z, x) is x + max(z, 0), but not where x + z
// wraps around.
#pragma once

#include <cstdint>
#include <span>

#include "rules/tensors/binding.h"

namespace egret::rules {

// As tensors hold them, or as proofs have them.
enum class Integers : std::uint8_t { kOfFixedWidth, kWithoutBounds };

// Of a match: its sources' attributes, and the environment that bind_sources() made. True where no
// element of the rule's variables is an integer; else where both sides, as their definitions say,
// compute integers in one of the two ways, or not at all. Bool is no integer here.
bool holds_of_fixed_width(const Rule& rule, std::span<const MatchedTerm> matched,
                          const Environment& environment);

}  // namespace egret::rules
