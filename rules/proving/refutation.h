// SPDX-License-Identifier: Apache-2.0
// The search for counterexamples: tensors on which the two sides of a rule differ, by more than
// rounding explains (rules/testing/tester.h).
//
// Around an instance whose family could not be proven, it tries the instance itself, instances that
// a walk reaches from it, and other members of the family. Deterministic: bounded by counts.
#pragma once

#include <cstdint>
#include <optional>

#include "base/random.h"
#include "rules/proving/generalization.h"
#include "rules/testing/tester.h"

namespace egret::rules {

class Refutation {
 public:
  // All outlive the object. `tensors`: whether tensors may be run at all.
  Refutation(const Rule& rule, Instantiator& instantiator, KnownOperators& known,
             std::uint64_t seed, bool tensors);

  Comparison compare(const Instance& instance, const base::Random& random) const;
  // A counterexample as small as changes make it. `found`: the result of compare() with the same
  // arguments.
  Counterexample shrunk(const Instance& instance, const Comparison& found,
                        const base::Random& random) const;

  // These return a shrunk counterexample, or nullopt if none was found.
  //
  // On one instance, once. Nothing is run if its tensors are too large.
  std::optional<Counterexample> on(const Instance& instance, const base::Random& random) const;
  // Around an instance of the family.
  std::optional<Counterexample> around(const Instance& instance, const Family& family) const;

 private:
  std::optional<Counterexample> on_members(const Instance& instance, const Family& family,
                                           const base::Random& random) const;
  std::optional<Counterexample> near_example(const Instance& instance, const Family& family,
                                             const base::Random& random) const;
  std::optional<Counterexample> on_member(const Instance& like, const ir::SymbolValues& numbers,
                                          const base::Random& random) const;

  const Rule& rule_;
  Instantiator& instantiator_;
  KnownOperators& known_;
  base::Random around_;
  bool tensors_;
};

}  // namespace egret::rules
