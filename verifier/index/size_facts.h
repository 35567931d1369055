// SPDX-License-Identifier: Apache-2.0
// What follows from the ranges of open sizes and from what a program requires of them, by adding
// facts up. No solver.
//
// A guard over sizes is contradictory if each of its cases is. A case is a list of facts p >= 0:
// what the guard says there, what is assumed, the ranges of the symbols, and the bounds of
// quotients and extrema (b*q <= a < b*q + b for q = a div b). It is contradictory if some sum of
// facts, each times a factor that is not negative, is negative in every term. A divisor must be at
// least 1 in every term for all sizes in their ranges: nothing is known of other quotients.
//
// A proof names the summands of each case as FACT:FACTOR, by the fact's number and an expression
// over sizes: "0:1;3:2*N|0:1". Cases that one fact refutes need none.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/core/denotation.h"
#include "ir/core/expression_extent.h"
#include "verifier/index/polynomial.h"
#include "verifier/index/size_range.h"

namespace egret::verifier {

class SizeFacts {
 public:
  using Case = std::vector<Polynomial>;  // none of them is negative

  // Symbols without a range have the default.
  explicit SizeFacts(SizeRanges ranges = {}) : ranges_(std::move(ranges)) {}

  void assume(ir::Guard guard);
  bool is_assumed(ir::Guard guard) const;
  const std::vector<ir::Guard>& assumptions() const { return assumptions_; }

  // Whether no sizes within their ranges that meet the assumptions meet the guard. False also means
  // that the proof does not show it.
  bool contradictory(ir::Guard guard, std::string_view proof = "");

  // For a search of proofs. nullopt: too many or too long.
  std::optional<std::vector<Case>> cases(ir::Guard guard);
  // Whether the polynomial is negative, or not negative, because each of its terms is.
  bool is_negative(const Polynomial& polynomial) { return is_positive(-polynomial, 1); }
  bool is_nonnegative(const Polynomial& polynomial) { return is_positive(polynomial, 0); }
  // With symbols as their least values and rests that are not negative.
  Polynomial raised(const Polynomial& polynomial);
  const AtomTable& atoms() const { return atoms_; }

 private:
  bool is_positive(const Polynomial& polynomial, std::int64_t least);
  bool is_nonnegative(AtomId atom);
  SizeRange range(const Atom& symbol) const;
  Polynomial value(const ir::ExprNode& node);
  Polynomial value(ir::Index index);
  Polynomial divisor(const ir::ExprNode& quotient);
  std::vector<Case> alternatives(const ir::ExprNode& node, bool truth);
  void add_bounds(Case& facts);
  Case assumed_facts();
  bool is_refuted(const Case& facts, std::string_view sum);

  SizeRanges ranges_;
  std::vector<ir::Guard> assumptions_;
  AtomTable atoms_;
  std::map<const ir::ExprNode*, Polynomial> values_;
  std::map<AtomId, bool> nonnegative_;
  ir::ExpressionMeter meter_;
};

}  // namespace egret::verifier
