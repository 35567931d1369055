// SPDX-License-Identifier: Apache-2.0
#include "extract/reduce/required.h"

#include "extract/core/components.h"
#include "extract/reduce/settled.h"

namespace egret::extract {
namespace {

std::vector<bool> needed_classes(const Core& core) {
  std::vector<bool> needed(core.classes.size(), false);
  for (const auto& candidates : core.classes) {
    for (const Candidate& candidate : candidates) {
      for (const ClassIndex need : candidate.needs) needed[need] = true;
    }
  }
  return needed;
}

}  // namespace

bool settle_required(Core& core, const Problem& problem) {
  const std::vector<std::uint32_t> components = strong_components(core);
  // The need is chosen in any case, and in another component it cannot contain the class.
  bool changed = drop_needs(core, [&](ClassIndex c, ClassIndex need) {
    return core.required[need] && components[need] != components[c];
  });
  const std::vector<bool> needed = needed_classes(core);
  for (ClassIndex c = 0; c < core.classes.size(); ++c) {
    if (!core.required[c] || core.classes[c].size() != 1) continue;
    const Candidate& only = core.classes[c].front();
    for (const ClassIndex need : only.needs) {
      changed = changed || !core.required[need];
      core.required[need] = true;
    }
    if (needed[c]) continue;  // within its component: the order still matters
    if (core.is_marked(only)) continue;
    // No candidate needs the class, so no cycle runs through it, and its needs are required.
    core.paid += only.cost;
    decide(core, problem, only);
    core.required[c] = false;
    core.classes[c].clear();
    changed = true;
  }
  return changed;
}

// An answer contains the required classes and thus all that they imply.
bool require_implied(Core& core, const Implied& implied) {
  bool changed = false;
  const std::vector<bool> before = core.required;
  for (ClassIndex c = 0; c < core.classes.size(); ++c) {
    if (!before[c]) continue;
    for (const ClassIndex other : implied.by(c)) {
      changed = changed || !core.required[other];
      core.required[other] = true;
    }
  }
  return changed;
}

}  // namespace egret::extract
