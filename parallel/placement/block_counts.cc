// SPDX-License-Identifier: Apache-2.0
#include "parallel/placement/block_counts.h"

#include <iterator>
#include <set>

namespace egret::parallel {

std::vector<std::int64_t> block_counts(const Mesh& mesh) {
  std::set<std::int64_t> counts{1};
  for (int axis = 0; axis < mesh.axis_count(); ++axis) {
    for (const std::int64_t count : std::vector<std::int64_t>(counts.begin(), counts.end()))
      counts.insert(count * mesh.size(axis));
  }
  return {std::next(counts.begin()), counts.end()};
}

}  // namespace egret::parallel
