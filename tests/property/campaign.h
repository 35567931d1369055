// SPDX-License-Identifier: Apache-2.0
// How many random cases a property is tried on, and from which seed.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

namespace egret::testing_support {

struct Campaign {
  std::int64_t cases = from_environment("EGRET_PROPERTY_CASES", 500);
  std::uint64_t seed = static_cast<std::uint64_t>(from_environment("EGRET_PROPERTY_SEED", 1));

  std::string place(std::int64_t i) const {
    return "case " + std::to_string(i) + " of seed " + std::to_string(seed);
  }

 private:
  static std::int64_t from_environment(const char* name, std::int64_t otherwise) {
    const char* text = std::getenv(name);
    return text != nullptr ? std::atoll(text) : otherwise;
  }
};

}  // namespace egret::testing_support
