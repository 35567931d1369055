// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace egret::verifier {

// What is known of an open size by itself; the default of all.
struct SizeRange {
  std::int64_t least = 1;
  std::int64_t most = std::int64_t{1} << 31;
  friend bool operator==(const SizeRange&, const SizeRange&) = default;
};
using SizeRanges = std::map<std::string, SizeRange, std::less<>>;  // by symbol

}  // namespace egret::verifier
