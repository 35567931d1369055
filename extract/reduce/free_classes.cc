// SPDX-License-Identifier: Apache-2.0
#include "extract/reduce/free_classes.h"

#include <algorithm>

#include "extract/reduce/settled.h"

namespace egret::extract {

// A class with a candidate of no cost and no needs takes it: nothing can be better, and nothing
// else changes.
bool settle_free(Core& core, const Problem& problem) {
  std::vector<bool> free(core.classes.size(), false);
  bool any = false;
  for (ClassIndex c = 0; c < core.classes.size(); ++c) {
    const auto& candidates = core.classes[c];
    const auto found = std::ranges::find_if(candidates, [](const Candidate& candidate) {
      return candidate.cost == 0 && candidate.needs.empty();
    });
    const auto is_marked = [&](const Candidate& candidate) { return core.is_marked(candidate); };
    if (found == candidates.end() || std::ranges::any_of(candidates, is_marked)) continue;
    decide(core, problem, *found);
    free[c] = any = true;
  }
  if (!any) return false;
  for (ClassIndex c = 0; c < core.classes.size(); ++c) {
    if (!free[c]) continue;
    core.classes[c].clear();
    core.required[c] = false;
  }
  drop_needs(core, [&](ClassIndex, ClassIndex need) { return free[need]; });
  return true;
}

}  // namespace egret::extract
