// SPDX-License-Identifier: Apache-2.0
#include "extract/reduce/expensive.h"

#include <algorithm>
#include <cmath>

#include "extract/core/cheapest_terms.h"

namespace egret::extract {
namespace {

// Drops the candidates with a need that has no candidate left, or none with a finite term.
bool drop_underivable(Core& core) {
  bool changed = false;
  const CoreProblem problem(core);
  const TreeChoice terms = cheapest_terms(problem.problem());
  for (auto& candidates : core.classes) {
    const auto dropped = std::erase_if(candidates, [&](const Candidate& candidate) {
      return std::ranges::any_of(candidate.needs,
                                 [&](ClassIndex need) { return terms.choice[need] == kNoNode; });
    });
    changed = changed || dropped > 0;
  }
  return changed;
}

}  // namespace

// A lower bound for answers with a candidate: the cheapest candidate of each required class, the
// candidate itself, and the cheapest candidate of each further class that it implies. The bound is
// valid for costs that are not negative. The margin keeps answers that are as good as the known
// one.
bool drop_expensive(Core& core, const Implied& implied, double known_cost) {
  if (!std::isfinite(known_cost)) return false;
  bool changed = false;
  const double margin = 1e-9 * std::max(1.0, std::abs(known_cost));
  std::vector<double> least(core.classes.size(), 0);
  double certain = core.paid;
  for (ClassIndex c = 0; c < core.classes.size(); ++c) {
    const auto& candidates = core.classes[c];
    if (candidates.empty()) continue;
    least[c] = std::ranges::min_element(candidates, {}, &Candidate::cost)->cost;
    if (core.required[c]) certain += least[c];
  }
  for (ClassIndex c = 0; c < core.classes.size(); ++c) {
    const double own = core.required[c] ? certain - least[c] : certain;
    const auto dropped = std::erase_if(core.classes[c], [&](const Candidate& candidate) {
      double bound = own + candidate.cost;
      for (const ClassIndex other : implied.by(candidate)) {
        if (!core.required[other]) bound += least[other];
      }
      return bound > known_cost + margin;
    });
    changed = changed || dropped > 0;
  }
  return drop_underivable(core) || changed;
}

}  // namespace egret::extract
