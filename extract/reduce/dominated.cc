// SPDX-License-Identifier: Apache-2.0
#include "extract/reduce/dominated.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace egret::extract {
namespace {

// The candidates that no cheaper one dominates, then the marked ones.
// Candidate b is dominated by a candidate a of the same class if a costs no more and b implies all
// needs of a. In an answer with b all needs of a are present below b, so a may take its place
// without a further cost or a cycle.
std::vector<Candidate> undominated(const Core& core, std::vector<Candidate> candidates,
                                   const Implied& implied) {
  constexpr std::size_t kMostCompared = 4096;  // candidates that a candidate is compared with
  std::ranges::stable_sort(candidates, [](const Candidate& a, const Candidate& b) {
    return a.cost != b.cost ? a.cost < b.cost : a.needs.size() < b.needs.size();
  });
  std::vector<Candidate> kept;
  std::vector<Candidate> marked;
  std::set<std::vector<ClassIndex>> seen;  // needs
  for (Candidate& candidate : candidates) {
    if (core.is_marked(candidate)) {
      marked.push_back(std::move(candidate));
      continue;
    }
    if (!seen.insert(candidate.needs).second) continue;
    const std::vector<ClassIndex> all = implied.by(candidate);
    const bool few = kept.size() <= kMostCompared;
    const bool dominated = few && std::ranges::any_of(kept, [&](const Candidate& cheaper) {
                             return std::ranges::includes(all, cheaper.needs);
                           });
    if (!dominated) kept.push_back(std::move(candidate));
  }
  std::ranges::move(marked, std::back_inserter(kept));
  return kept;
}

}  // namespace

bool drop_dominated(Core& core, const Implied& implied) {
  bool changed = false;
  for (auto& candidates : core.classes) {
    if (candidates.size() < 2) continue;
    const std::size_t before = candidates.size();
    candidates = undominated(core, std::move(candidates), implied);
    changed = changed || candidates.size() < before;
  }
  return changed;
}

}  // namespace egret::extract
