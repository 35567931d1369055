// SPDX-License-Identifier: Apache-2.0
// How general the draft of a rule is, and which expressions it prefers.
#pragma once

#include <cstdint>

namespace egret::rules::generator {

// What the rule leaves open.
enum class Openness : std::uint8_t {
  kRanks,       // ranks and attributes
  kAttributes,  // attributes; ranks are those of the terms
  kSizes,       // attributes that are sizes; axes, permutations and flags are those of the terms
};

// Which expression stands for a number of the right side where several have its value.
enum class Preference : std::uint8_t {
  kAttributes,  // one over the attribute variables of the left side
  kSizes,       // one over the sizes of its tensors
};

}  // namespace egret::rules::generator
