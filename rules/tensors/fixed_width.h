// SPDX-License-Identifier: Apache-2.0
// Whether a rule holds for fixed-width integers.
//
// Rules are proven over unbounded integers, but tensor elements have 8 to 64 bits. Fixed-width sums
// and products equal the unbounded ones modulo a power of two. An identity of sums and products
// alone therefore also holds in fixed width. An identity that only moves and compares elements
// holds too, because nothing overflows. A mixture need not hold: max(x + z, x) = x + max(z, 0)
// fails where x + z wraps around.
#pragma once

#include <cstdint>
#include <span>

#include "rules/tensors/binding.h"

namespace egret::rules {

// Integers as tensors hold them, or as proofs assume them.
enum class Integers : std::uint8_t { kOfFixedWidth, kWithoutBounds };

// Checks a match, given its sources' attributes and the environment that bind_sources() made. True
// if no variable of the rule has integer elements. Otherwise true if both sides, by their
// definitions, compute with integers in only one of the two ways, or not at all. Bool does not
// count as an integer.
bool holds_of_fixed_width(const Rule& rule, std::span<const MatchedTerm> matched,
                          const Environment& environment);

}  // namespace egret::rules
