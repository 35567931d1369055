// SPDX-License-Identifier: Apache-2.0
#include "base/minimal_subset.h"

#include <algorithm>
#include <numeric>

namespace egret::base {
namespace {

using Subset = std::vector<std::size_t>;

// [begin, end) of a part, or all but it.
Subset part(const Subset& all, std::size_t begin, std::size_t end) {
  return {all.begin() + static_cast<std::ptrdiff_t>(begin),
          all.begin() + static_cast<std::ptrdiff_t>(end)};
}
Subset without(const Subset& all, std::size_t begin, std::size_t end) {
  Subset rest = part(all, 0, begin);
  rest.insert(rest.end(), all.begin() + static_cast<std::ptrdiff_t>(end), all.end());
  return rest;
}

}  // namespace

Subset minimal_subset(std::size_t count, FunctionRef<bool(const Subset&)> holds) {
  Subset kept(count);
  std::iota(kept.begin(), kept.end(), std::size_t{0});
  // One part alone is tried while parts are large: later, what matters is rarely in one of them.
  constexpr std::size_t kMostAlone = 8;
  std::size_t parts = 2;
  while (!kept.empty()) {
    parts = std::min(parts, kept.size());
    const std::size_t size = (kept.size() + parts - 1) / parts;
    bool alone = false;
    for (std::size_t at = 0; parts <= kMostAlone && parts > 1 && at < kept.size(); at += size) {
      Subset one = part(kept, at, std::min(at + size, kept.size()));
      if (!holds(one)) continue;
      kept = std::move(one);
      alone = true;
      break;
    }
    if (alone) {
      parts = 2;
      continue;
    }
    // Whatever part can go goes; the next one is then at the same place.
    bool smaller = false;
    for (std::size_t at = 0; at < kept.size();) {
      Subset rest = without(kept, at, std::min(at + size, kept.size()));
      if (holds(rest)) {
        kept = std::move(rest);
        smaller = true;
      } else {
        at += size;
      }
    }
    if (size > 1) {
      parts = 2 * parts;
    } else if (!smaller) {
      break;  // no single element can go
    }
  }
  return kept;
}

}  // namespace egret::base
