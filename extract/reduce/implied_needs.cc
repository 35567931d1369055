// SPDX-License-Identifier: Apache-2.0
#include "extract/reduce/implied_needs.h"

#include <algorithm>

namespace egret::extract {

// A need that another need of the same candidate implies is present anyway. Shorter lists make all
// later steps cheaper and rows tighter.
bool drop_implied_needs(Core& core, const Implied& implied) {
  bool changed = false;
  for (auto& candidates : core.classes) {
    for (Candidate& candidate : candidates) {
      const std::vector<ClassIndex> needs = candidate.needs;
      const auto dropped = std::erase_if(candidate.needs, [&](ClassIndex need) {
        return std::ranges::any_of(needs, [&](ClassIndex other) {
          // Of two needs that imply each other, one has to stay. Neither can be in an answer.
          return other != need && implied.implies(other, need) &&
                 !(implied.implies(need, other) && other > need);
        });
      });
      changed = changed || dropped > 0;
    }
  }
  return changed;
}

}  // namespace egret::extract
