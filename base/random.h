// SPDX-License-Identifier: Apache-2.0
// Deterministic random numbers: same seed, same stream, on every machine.
#pragma once

#include <cstdint>

#include "base/check.h"
#include "base/hash.h"

namespace egret::base {

// SplitMix64. Streams split by key (split()) are independent for all practical ends, so parallel
// work draws from one stream per item and never depends on the order of execution.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(mix(seed)) {}

  std::uint64_t next() {
    const std::uint64_t current = state_;
    state_ += 0x9e3779b97f4a7c15ULL;
    return mix(current);
  }
  // Uniform in [0, bound), bound > 0 (multiply-shift; bias below 2^-32 for bounds below 2^32).
  std::uint64_t below(std::uint64_t bound) {
    EGRET_DCHECK(bound > 0);
    return static_cast<std::uint64_t>((static_cast<Wide>(next()) * bound) >> 64);
  }
  // Uniform in [low, high], which may hold all but one of the numbers of 64 bits.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    EGRET_DCHECK(low <= high);
    const auto first = static_cast<std::uint64_t>(low);  // wraps, where signed numbers overflow
    return static_cast<std::int64_t>(first + below(static_cast<std::uint64_t>(high) - first + 1));
  }
  // Uniform in [0, 1), 53 bits.
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  double uniform(double low, double high) { return low + (high - low) * unit(); }
  bool chance(double probability) { return unit() < probability; }
  Random split(std::uint64_t key) const { return Random(hash_combine(state_, key)); }

 private:
  __extension__ typedef unsigned __int128 Wide;

  std::uint64_t state_;
};

}  // namespace egret::base
