// SPDX-License-Identifier: Apache-2.0
// Do these rules make these terms equal? In one line, for tests and for trying out rules:
//
//   EXPECT_EQUIVALENT("commute: (+ ?a ?b) => (+ ?b ?a)\n"
//                     "zero: (+ ?a 0) => ?a", "(+ 0 x)", "x");
//   EXPECT_EQ(simplified(rules, "(+ 0 x)"), "x");
//
// Each call makes an e-graph of its own, runs the rules on the start term until all goals are in
// its class or a limit is reached, and says what it found. A goal may be a pattern: "(+ ?x ?x)".
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "egraph/search/limits.h"
#include "egraph/search/runner.h"
#include "egraph/search/theory.h"

namespace egret::egraph {

struct EquivalenceOptions {
  Limits limits;
  std::string_view scheduler = "backoff";
};

struct Equivalence {
  bool holds = false;
  std::vector<std::string> missing;  // goals that were not reached
  RunReport run;
  std::size_t nodes = 0;
  std::size_t classes = 0;
  std::string smallest;  // the smallest term of the start's class
};

// Fails when a rule or a term does not parse or the analysis refuses the start.
base::Result<Equivalence> check_equivalence(const Theory& theory, std::string_view start,
                                            std::span<const std::string_view> goals,
                                            const EquivalenceOptions& options = {});

// What an assertion wants: "" when all goals were reached, otherwise what to read in the test's
// log: which were not, why the run ended, and what it found instead.
std::string why_not_equivalent(const Theory& theory, std::string_view start,
                               std::initializer_list<std::string_view> goals,
                               const EquivalenceOptions& options = {});
inline std::string why_not_equivalent(const Theory& theory, std::string_view start,
                                      std::string_view goal,
                                      const EquivalenceOptions& options = {}) {
  return why_not_equivalent(theory, start, {goal}, options);
}

// The smallest term (egraph/core/smallest_term.h) that the rules find equal to the start within the
// limits; the error's message where something does not parse.
std::string simplified(const Theory& theory, std::string_view start,
                       const EquivalenceOptions& options = {});

}  // namespace egret::egraph

// For GoogleTest, which the test includes. The first argument is a Theory or just its rules.
#define EXPECT_EQUIVALENT(rules, start, ...) \
  EXPECT_EQ(::egret::egraph::why_not_equivalent({rules}, start, __VA_ARGS__), "")
#define EXPECT_NOT_EQUIVALENT(rules, start, ...) \
  EXPECT_NE(::egret::egraph::why_not_equivalent({rules}, start, __VA_ARGS__), "")
