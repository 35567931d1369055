// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/candidate_derivation.h"

#include <algorithm>
#include <cstdint>

#include "base/stop.h"
#include "base/system/thread_pool.h"
#include "rules/generator/candidate_rule.h"
#include "rules/generator/rule_in_world.h"

namespace egret::rules::generator {
namespace {

// Adds to `derived` what is found of those that `which` names.
void derive(TermTable& terms, const RuleSet& set, std::span<const Equality> equalities,
            const std::vector<std::size_t>& which, const DerivationOptions& options,
            std::vector<bool>& derived) {
  constexpr std::size_t kTogether = 250;
  constexpr std::size_t kAtATime = 8;  // e-graphs, whatever the number of threads
  for (std::size_t begin = 0; begin < which.size() && !base::stop_requested();
       begin += kTogether * kAtATime) {
    std::vector<ir::Graph> pairs;
    std::vector<std::vector<bool>> found(kAtATime);
    for (std::size_t from = begin; pairs.size() < kAtATime && from < which.size();
         from += kTogether) {
      std::vector<Equality> some;
      for (std::size_t i = from; i < std::min(from + kTogether, which.size()); ++i)
        some.push_back(equalities[which[i]]);
      pairs.push_back(sides_in_world(terms, some, 0));
    }
    base::shared_pool().parallel_for(pairs.size(), 1, [&](std::size_t i, std::size_t) {
      found[i] = derived_pairs(set, pairs[i], options);
    });
    std::size_t at = begin;
    for (const std::vector<bool>& some : found) {
      for (const bool is : some) derived[which[at++]] = is;
    }
  }
}

}  // namespace

std::vector<bool> derived_together(TermTable& terms, const RuleSet& set,
                                   std::span<const Equality> equalities,
                                   const DerivationOptions& options) {
  DerivationOptions together = options;
  together.nodes = 300'000;
  together.matches = 200'000;
  std::vector<bool> derived(equalities.size(), false);
  // First only as deep as most need.
  for (const std::uint64_t iterations : {1, 2, 3}) {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < derived.size(); ++i) {
      if (!derived[i]) open.push_back(i);
    }
    together.iterations = iterations;
    derive(terms, set, equalities, open, together, derived);
  }
  return derived;
}

std::vector<bool> derived_singly(TermTable& terms, const RuleSet& set,
                                 std::span<const Equality> equalities,
                                 const DerivationOptions& options) {
  std::vector<ir::Graph> sides;
  for (const Equality& equality : equalities)
    sides.push_back(sides_in_world(terms, {&equality, 1}, 0));
  std::vector<std::uint8_t> found(sides.size(), 0);
  base::shared_pool().parallel_for(sides.size(), 1, [&](std::size_t i, std::size_t) {
    found[i] = derives(set, sides[i], options) ? 1 : 0;
  });
  return {found.begin(), found.end()};
}

std::vector<Rule> rules_in_first_world(TermTable& terms, const Equality& equality) {
  return rules_in_world(sides_in_world(terms, {&equality, 1}, 0));
}

}  // namespace egret::rules::generator
