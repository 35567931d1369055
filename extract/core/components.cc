// SPDX-License-Identifier: Apache-2.0
#include "extract/core/components.h"

#include <numeric>

#include "base/strong_components.h"

namespace egret::extract {
std::vector<std::uint32_t> strong_components(const Core& core) {
  std::vector<std::uint32_t> begin = {0};
  std::vector<ClassIndex> needs;
  for (const auto& candidates : core.classes) {
    for (const Candidate& candidate : candidates)
      needs.insert(needs.end(), candidate.needs.begin(), candidate.needs.end());
    begin.push_back(static_cast<std::uint32_t>(needs.size()));
  }
  return base::strong_components(begin, needs);
}

// Union-find over the needs. Sets without a required class are dropped.
std::vector<Part> connected_parts(const Core& core) {
  std::vector<ClassIndex> set(core.classes.size());
  std::iota(set.begin(), set.end(), 0);
  const auto find = [&](ClassIndex c) {
    // Path halving: near-constant amortized cost without recursion.
    while (set[c] != c) c = set[c] = set[set[c]];
    return c;
  };
  for (ClassIndex c = 0; c < core.classes.size(); ++c) {
    for (const Candidate& candidate : core.classes[c]) {
      for (const ClassIndex need : candidate.needs) set[find(need)] = find(c);
    }
  }
  std::vector<bool> wanted(core.classes.size(), false);
  for (ClassIndex c = 0; c < core.classes.size(); ++c) {
    if (core.required[c]) wanted[find(c)] = true;
  }
  std::vector<Part> parts;
  std::vector<std::uint32_t> part_of(core.classes.size(), kNoNode);
  std::vector<ClassIndex> index(core.classes.size(), kNoNode);
  for (ClassIndex c = 0; c < core.classes.size(); ++c) {
    const ClassIndex root = find(c);
    if (!wanted[root]) continue;
    if (part_of[root] == kNoNode) {
      part_of[root] = static_cast<std::uint32_t>(parts.size());
      parts.emplace_back();
    }
    Part& part = parts[part_of[root]];
    index[c] = static_cast<ClassIndex>(part.origin.size());
    part.origin.push_back(c);
  }
  for (Part& part : parts) {
    for (const ClassIndex c : part.origin) {
      std::vector<Candidate> candidates = core.classes[c];
      for (Candidate& candidate : candidates) {
        for (ClassIndex& need : candidate.needs) need = index[need];
      }
      part.core.classes.push_back(std::move(candidates));
      part.core.required.push_back(core.required[c]);
    }
  }
  return parts;
}

}  // namespace egret::extract
