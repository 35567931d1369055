// SPDX-License-Identifier: Apache-2.0
// The engine's matcher against the definition (slow_matcher.h) on every small case.
#pragma once

#include <gtest/gtest.h>

#include "egraph/formats/dump.h"
#include "egraph/search/matcher.h"
#include "tests/egraph/random_patterns.h"
#include "tests/egraph/slow_matcher.h"
#include "tests/egraph/small_cases.h"

namespace egret::egraph {

// A pattern compiled once and searched in many e-graphs.
class ComparedPattern {
 public:
  ComparedPattern(const Pattern& pattern, const OpTable& ops) : matcher_(pattern, ops) {}

  // Whether both matchers find the same matches, each once.
  bool agrees(const EGraph& egraph) {
    MatchBuffer buffer = matcher_.make_buffer();
    Budget budget{Limits{}};
    const SearchEnd end = matcher_.search(egraph, Limits::kNone, budget, buffer);
    std::multiset<SlowMatcher::Row> rows;
    for (std::size_t i = 0; i < buffer.size(); ++i) {
      const Match match = buffer[i];
      rows.insert({{match.classes().begin(), match.classes().end()},
                   {match.ops().begin(), match.ops().end()}});
    }
    found_ += rows.size();
    const bool same =
        end == SearchEnd::kComplete && rows == SlowMatcher(egraph, matcher_.pattern()).run();
    EXPECT_TRUE(same) << describe(matcher_.pattern(), egraph.ops()) << "\nin\n" << dump(egraph);
    return same;
  }
  std::size_t found() const { return found_; }

 private:
  Matcher matcher_;
  std::size_t found_ = 0;
};

struct CaseCount {
  std::size_t egraphs = 0;
  std::size_t patterns = 0;
  std::size_t matches = 0;
};

// Compares all given patterns in all given e-graphs; stops at the first difference.
inline CaseCount compare_all(CaseLanguage& language, std::vector<ComparedPattern>& patterns,
                             const std::vector<std::string_view>& terms, bool hiding) {
  CaseCount count;
  count.patterns = patterns.size();
  for_each_small_egraph(language, terms, hiding, [&](const EGraph& egraph) {
    if (::testing::Test::HasFailure()) return;
    ++count.egraphs;
    for (ComparedPattern& pattern : patterns) {
      if (!pattern.agrees(egraph)) return;
    }
  });
  for (const ComparedPattern& pattern : patterns) count.matches += pattern.found();
  return count;
}

inline std::vector<ComparedPattern> small_patterns(const CaseLanguage& language, std::size_t atoms,
                                                   std::size_t places, bool free_var = false) {
  std::vector<ComparedPattern> patterns;
  for_each_small_pattern(language, atoms, places, free_var, [&](const Pattern& pattern) {
    patterns.emplace_back(pattern, language.ops);
  });
  return patterns;
}

}  // namespace egret::egraph
