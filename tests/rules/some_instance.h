// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "rules/instantiation.h"

namespace egret::rules {

// The first instance that random attempts make; nullopt after a thousand.
inline std::optional<Instance> some_instance(Instantiator& instantiator) {
  for (std::uint64_t i = 0; i < 1000; ++i) {
    if (auto instance = instantiator.attempt(base::Random(1).split(i))) return instance;
  }
  return std::nullopt;
}

}  // namespace egret::rules
