// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <array>
#include <cstring>

namespace egret::base {
namespace {

// Two lanes of multiply-rotate over 16-byte blocks; each word passes through mix() at the end.
struct Lanes {
  std::uint64_t a;
  std::uint64_t b;
};

std::uint64_t rotate(std::uint64_t x, int by) { return (x << by) | (x >> (64 - by)); }

Lanes absorb(std::span<const std::byte> bytes, std::uint64_t seed) {
  Lanes s{mix(seed ^ bytes.size()), mix(seed + 0xd6e8feb86659fd93ULL)};
  auto step = [&s](std::uint64_t x, std::uint64_t y) {
    s.a = rotate((s.a ^ x) * 0x87c37b91114253d5ULL, 31) + s.b;
    s.b = rotate((s.b ^ y) * 0x4cf5ad432745937fULL, 33) + s.a;
  };
  std::size_t i = 0;
  for (; i + 16 <= bytes.size(); i += 16) {
    std::array<std::uint64_t, 2> block;
    std::memcpy(block.data(), bytes.data() + i, 16);
    step(block[0], block[1]);
  }
  std::array<std::uint64_t, 2> tail{};
  if (i < bytes.size()) std::memcpy(tail.data(), bytes.data() + i, bytes.size() - i);
  step(tail[0], tail[1]);
  return s;
}

}  // namespace

std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t seed) {
  const Lanes s = absorb(bytes, seed);
  return mix(s.a ^ rotate(s.b, 29));
}

std::uint64_t hash_string(std::string_view text, std::uint64_t seed) {
  return hash_bytes(std::as_bytes(std::span(text)), seed);
}

std::string ContentHash::to_hex() const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint64_t word : {high, low}) {
    for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[(word >> shift) & 15];
  }
  return text;
}

ContentHash content_hash(std::span<const std::byte> bytes) {
  const Lanes s = absorb(bytes, 0x45677265742d3031ULL);
  return {mix(s.a + rotate(s.b, 17)), mix(s.b ^ rotate(s.a, 41))};
}

ContentHash content_hash(std::string_view text) {
  return content_hash(std::as_bytes(std::span(text)));
}

}  // namespace egret::base
