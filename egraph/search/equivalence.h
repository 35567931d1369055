// SPDX-License-Identifier: Apache-2.0
// Checks whether rules make terms equal. A one-line form for tests and experiments:
//
//   EXPECT_EQUIVALENT("commute: (+ ?a ?b) => (+ ?b ?a)\n"
//                     "zero: (+ ?a 0) => ?a", "(+ 0 x)", "x");
//   EXPECT_EQ(simplified(rules, "(+ 0 x)"), "x");
//
// Each call makes its own e-graph, runs the rules on the start term until all goals are in its
// class or a limit is reached, and reports the result. A goal may be a pattern: "(+ ?x ?x)".
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

// Fails if a rule or a term does not parse, or the analysis refuses the start term.
base::Result<Equivalence> check_equivalence(const Theory& theory, std::string_view start,
                                            std::span<const std::string_view> goals,
                                            const EquivalenceOptions& options = {});

// For assertions: "" if all goals were reached. Otherwise a message that names the missing goals,
// the stop reason and the smallest term found.
std::string why_not_equivalent(const Theory& theory, std::string_view start,
                               std::initializer_list<std::string_view> goals,
                               const EquivalenceOptions& options = {});
inline std::string why_not_equivalent(const Theory& theory, std::string_view start,
                                      std::string_view goal,
                                      const EquivalenceOptions& options = {}) {
  return why_not_equivalent(theory, start, {goal}, options);
}

// The smallest term (egraph/core/smallest_term.h) that the rules prove equal to the start within
// the limits; an error message if something does not parse.
std::string simplified(const Theory& theory, std::string_view start,
                       const EquivalenceOptions& options = {});

}  // namespace egret::egraph

// For GoogleTest, which the test must include. The first argument is a Theory or only its rules.
#define EXPECT_EQUIVALENT(rules, start, ...) \
  EXPECT_EQ(::egret::egraph::why_not_equivalent({rules}, start, __VA_ARGS__), "")
#define EXPECT_NOT_EQUIVALENT(rules, start, ...) \
  EXPECT_NE(::egret::egraph::why_not_equivalent({rules}, start, __VA_ARGS__), "")
