// SPDX-License-Identifier: Apache-2.0
#include "extract/reduce/reduce.h"

#include "extract/core/implied.h"
#include "extract/reduce/dominated.h"
#include "extract/reduce/expensive.h"
#include "extract/reduce/free_classes.h"
#include "extract/reduce/implied_needs.h"
#include "extract/reduce/inlining.h"
#include "extract/reduce/required.h"
#include "extract/reduce/unreachable.h"

namespace egret::extract {
namespace {

// The number of classes, candidates and needs.
std::size_t size_of(const Core& core) {
  std::size_t size = 0;
  for (const auto& candidates : core.classes) {
    if (!candidates.empty()) ++size;
    for (const Candidate& candidate : candidates) size += 1 + candidate.needs.size();
  }
  return size;
}

// Whether a round that left `after` of `before` deserves another one. In a large core a chain of
// hundreds of classes shrinks by one class a round, and each round visits the whole core.
bool is_worth_more(std::size_t before, std::size_t after) {
  constexpr std::size_t kLarge = 20'000;
  constexpr std::size_t kLeastShare = 300;  // one in so many
  return after < kLarge || (before > after && (before - after) * kLeastShare > after);
}

// The reductions that follow from what classes imply.
bool reduce_by_implied(Core& core, bool positive, double known_cost) {
  const Implied implied(core);
  bool changed = require_implied(core, implied);
  changed |= drop_implied_needs(core, implied);
  if (!positive) return changed;
  changed |= drop_dominated(core, implied);
  changed |= drop_expensive(core, implied, known_cost);
  return changed;
}

}  // namespace

// Applies all reductions until none changes the core. The cheap ones come first: the analysis of
// implied classes runs on what they leave. Reductions that drop a candidate because another one
// costs less need costs that are not negative.
void reduce(Core& core, const Problem& problem, const ReduceOptions& options) {
  const auto stopped = [&] { return options.should_stop && options.should_stop(); };
  const bool positive = !core.has_negative_costs();
  bool changed = true;
  std::size_t before = 0;
  do {
    before = size_of(core);
    changed = drop_unreachable(core);
    changed |= settle_required(core, problem);
    if (positive) changed |= settle_free(core, problem);
    changed |= inline_single_candidates(core, problem);
    changed |= inline_single_users(core);
    changed |= drop_self_needs(core);
    if (stopped()) break;
    changed |= reduce_by_implied(core, positive, options.known_cost);
  } while (changed && !stopped() && is_worth_more(before, size_of(core)));
  drop_unreachable(core);
}

}  // namespace egret::extract
