// SPDX-License-Identifier: Apache-2.0
// Two steps that several reductions share: a candidate is settled, and needs of settled classes are
// dropped.
#pragma once

#include "extract/core/core.h"

namespace egret::extract {

// Records the candidate's picks in Core::decided: its class is chosen by this candidate from now
// on.
void decide(Core& core, const Problem& problem, const Candidate& candidate);

// Drops each need for which `predicate(class of the candidate, need)` holds. Returns whether one
// was dropped.
template <typename Predicate>
bool drop_needs(Core& core, Predicate predicate) {
  bool changed = false;
  for (ClassIndex c = 0; c < core.classes.size(); ++c) {
    for (Candidate& candidate : core.classes[c]) {
      const auto dropped =
          std::erase_if(candidate.needs, [&](ClassIndex need) { return predicate(c, need); });
      changed = changed || dropped > 0;
    }
  }
  return changed;
}

}  // namespace egret::extract
