// SPDX-License-Identifier: Apache-2.0
// Does a set of rules derive another rule? The rule's sides are put on concrete inputs that satisfy
// its own condition, the set is run by equality saturation, and the rule is derived when its sides
// end in one class: on every instance tried, of which there are several, of different sizes.
//
// Two ways to ask, after Ruler (Nandi et al., OOPSLA 2021): from both sides, where the set may work
// on the right side too, and from the left side alone. There heuristics of the set are not asked:
// they say when a rule is worth it. The third way is what an optimizer does: from the left side,
// heuristics in force, and what the rule's own heuristics want to be weights are weights.
//
// "Derived" is a statement about the instances; it is used to leave out rules that add nothing, not
// as a proof.
//
// Deterministic for a seed: limits are iterations, nodes and matches, never time.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "rules/tensors/rule_set.h"
#include "rules/testing/instantiation.h"

namespace egret::rules {

enum class DerivationMode : std::uint8_t { kBothSides, kLeftSide, kOptimizer };

struct DerivationOptions {
  DerivationMode mode = DerivationMode::kBothSides;
  int instances = 2;  // of different sizes
  std::uint64_t iterations = 5;
  std::uint64_t nodes = 100'000;
  std::uint64_t matches = 1000;  // of one rule, before its first ban
  int multi_pattern_iterations = 2;
  std::uint64_t seed = 1;
};

struct Derivation {
  bool derived = false;
  int instances = 0;   // looked at
  std::string reason;  // why not: no instance was found, or shapes where the sides stayed apart
};

// A set with its heuristics taken away, which asks for the worth of a rule and not for its truth.
RuleSet without_heuristics(RuleSet set);

Derivation derive(const RuleSet& set, const Rule& goal, const DerivationOptions& options,
                  KnownOperators& known);

// The instances by which it is seen whether a set derives a rule; they do not depend on the set.
struct DerivationGoal {
  struct AtHand {
    ir::Graph sides;   // as joined_sides()
    std::string text;  // shapes and attributes
  };
  std::vector<AtHand> instances;  // a set derives the rule if it derives all, and there is one
};
DerivationGoal derivation_goal(const Rule& rule, const DerivationOptions& options,
                               KnownOperators& known);

// The sides of one instance, over the same inputs: outputs of the left, then those of the right.
// The variables named in `weights` are constants.
ir::Graph joined_sides(const Instance& instance, const std::set<std::string>& weights = {});
// Whether the set makes each output of the first half equal to its partner in the second half.
bool derives(const RuleSet& set, const ir::Graph& sides, const DerivationOptions& options);
// The same for many pairs at once: outputs 2i and 2i + 1 are a pair. Saturation is shared, so
// limits are those of all together.
std::vector<bool> derived_pairs(const RuleSet& set, const ir::Graph& pairs,
                                const DerivationOptions& options);

}  // namespace egret::rules
