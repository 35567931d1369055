// SPDX-License-Identifier: Apache-2.0
// Hashing that is the same on every machine and in every run.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace egret::base {

// A bijective mix of 64 bits (the finalizer of SplitMix64; Steele, Lea, Flood 2014).
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// Order-dependent combination of two hashes.
constexpr std::uint64_t hash_combine(std::uint64_t a, std::uint64_t b) {
  return mix(a ^ (mix(b) + 0x632be59bd9b4e019ULL + (a << 6) + (a >> 2)));
}

// Table hash of bytes. Not for content addressing: see ContentHash.
std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t seed = 0);
std::uint64_t hash_string(std::string_view text, std::uint64_t seed = 0);

// 128-bit content hash for naming data (weights, rules, files). Collisions by accident are out of
// the question at 2^64 objects' square root; it does not resist a forger.
struct ContentHash {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  friend auto operator<=>(const ContentHash&, const ContentHash&) = default;
  std::string to_hex() const;  // 32 lower-case digits
};
ContentHash content_hash(std::span<const std::byte> bytes);
ContentHash content_hash(std::string_view text);

}  // namespace egret::base
