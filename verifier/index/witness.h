// SPDX-License-Identifier: Apache-2.0
// Finds numbers that satisfy facts: a cheap proof that the facts are not contradictory.
//
// A local search that repairs one violated fact at a time, mostly by the change that violates the
// fewest facts (as WalkSAT does: Selman, Kautz, Cohen, AAAI 1994). It starts from the latest
// numbers found, or from the example from which a proof was generalized. Found numbers are kept,
// because the next question is mostly about the same indices. Failure proves nothing.
// Deterministic.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "verifier/index/literal.h"

namespace egret::verifier {

class WitnessSearch {
 public:
  // `example`: the values of symbols, by name, in one case that satisfies the hypotheses.
  WitnessSearch(const AtomTable& atoms, std::map<std::string, std::int64_t, std::less<>> example)
      : atoms_(atoms), example_(std::move(example)) {}

  bool find(const Facts& facts);
  // The value of a polynomial for the numbers found last. Atoms that those facts do not mention
  // have their value in the example, or a small one. nullopt for a division by a number below 1.
  std::optional<std::int64_t> found_value(const Polynomial& polynomial);

 private:
  using Numbers = std::vector<std::optional<std::int64_t>>;  // by atom; of those that are free

  bool holds(const Literal& fact, Numbers& numbers) const;
  std::optional<std::int64_t> value(const Polynomial& polynomial, Numbers& numbers) const;
  std::optional<std::int64_t> value(AtomId atom, Numbers& numbers) const;
  void complete(const std::vector<AtomId>& free, Numbers& numbers);
  std::int64_t start_of(AtomId atom);
  std::int64_t repaired(const Literal& fact, std::optional<std::int64_t>& number, Numbers& numbers);
  std::vector<AtomId> movable(const Literal& violated, const std::vector<AtomId>& free);
  std::ptrdiff_t violations(const Facts& facts, Numbers& numbers) const;
  bool repair(const Facts& facts, const std::vector<AtomId>& free, Numbers& numbers);

  const AtomTable& atoms_;
  std::map<std::string, std::int64_t, std::less<>> example_;
  base::Random random_{1};
  std::vector<Numbers> found_;  // the latest last
};

}  // namespace egret::verifier
