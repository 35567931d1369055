// SPDX-License-Identifier: Apache-2.0
// What the values of terms tell an enumeration. Terms are told apart by a few of their elements in
// the first world; those that are alike in these are compared in all elements, there and then in
// all worlds, by one word that stands for many elements.
//
// Two kinds of values:
//   residues  elements of a prime field, on random tensors, where functions and the order are
//             pseudo-random: equal are terms that are so whatever functions mean. Words are sums
//             with random coefficients, so that unequal elements have the same with probability
//             1 / p (Freivalds 1977). The first comparison is over 2^61 - 1 elements, the second
//             over a second, random prime.
//   numbers   doubles, with functions and the order as they are: equal are terms whose elements
//             agree to 9 digits, so that log(exp(x)) = x is found. Words are hashes of what is
//             left of the elements.
//
// Deterministic for a seed.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "rules/generator/spaces/term_table.h"

namespace egret::rules::generator {

class Valuation {
 public:
  virtual ~Valuation() = default;

  // Of the sample positions of choice(operands), without making the term.
  virtual Word fingerprint(std::size_t choice, std::span<const TermId> operands) = 0;
  // Of a start tensor at the same positions.
  virtual Word fingerprint_of_start(TermId start) = 0;
  // Whether choice gives the same elements for both.
  virtual bool same_elements(std::size_t choice, std::span<const TermId> a,
                             std::span<const TermId> b) = 0;
  // For all elements of a term: in the first world, and in all worlds.
  virtual Word first(TermId term) = 0;
  virtual Word everywhere(TermId term) = 0;

  // Whether something was undefined in a fingerprint since the last call.
  virtual bool take_undefined() = 0;
  // Forgets the elements of what was looked at since the last call and is not worth keeping.
  virtual void forget(const std::function<bool(TermId)>& keep) = 0;
};

// Of the kind that the table's space asks for.
std::unique_ptr<Valuation> make_valuation(TermTable& terms, std::uint64_t seed);

}  // namespace egret::rules::generator
