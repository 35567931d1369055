// SPDX-License-Identifier: Apache-2.0
// Searching by deltas against the definition, on every small case: patterns are searched together
// in every small e-graph, two of its terms are made equal, and they are searched again. What is
// found then must be matches, each once, and all that are not the image of an earlier one.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "egraph/formats/dump.h"
#include "egraph/search/rule_search.h"
#include "tests/egraph/random_patterns.h"
#include "tests/egraph/slow_matcher.h"
#include "tests/egraph/small_cases.h"

namespace egret::egraph {

class ComparedDeltas {
 public:
  ComparedDeltas(CaseLanguage& language, std::vector<Pattern> patterns)
      : language_(language), patterns_(std::move(patterns)) {
    for (const Pattern& pattern : patterns_) pointers_.push_back(&pattern);
  }

  // All e-graphs that these terms make, then each equality between two of them.
  void run(const std::vector<std::string_view>& terms) {
    for_each_partition(terms.size(), [&](const std::vector<std::size_t>& groups) {
      for (std::size_t i = 1; i < terms.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          if (groups[i] != groups[j] && !::testing::Test::HasFailure()) step(terms, groups, i, j);
        }
      }
    });
  }
  std::size_t steps() const { return steps_; }
  std::size_t found_again() const { return found_again_; }

 private:
  using Rows = std::set<SlowMatcher::Row>;

  void step(const std::vector<std::string_view>& terms, const std::vector<std::size_t>& groups,
            std::size_t i, std::size_t j) {
    EGraph egraph(language_.ops);
    const Syntax syntax(language_.ops);
    std::vector<ClassId> ids, first;
    for (const std::string_view term : terms) ids.push_back(*syntax.add_term(egraph, term));
    for (std::size_t term = 0; term < terms.size(); ++term) {
      if (groups[term] == first.size()) first.push_back(ids[term]);
      ASSERT_TRUE(egraph.merge(first[groups[term]], ids[term]).ok());
    }
    ASSERT_TRUE(egraph.rebuild().ok());
    if (egraph.same(ids[i], ids[j])) return;
    RuleSearch search(pointers_, language_.ops);
    const std::vector<Rows> before = searched(egraph, search);
    ASSERT_EQ(before, defined(egraph)) << dump(egraph);
    for (std::size_t p = 0; p < patterns_.size(); ++p) search.commit(p);

    ASSERT_TRUE(egraph.merge(ids[i], ids[j]).ok());
    ASSERT_TRUE(egraph.rebuild().ok());
    const std::vector<Rows> after = searched(egraph, search);
    const std::vector<Rows> all = defined(egraph);
    for (std::size_t p = 0; p < patterns_.size(); ++p) {
      Rows expected = all[p];
      for (SlowMatcher::Row row : before[p]) {
        for (ClassId& id : row.first) id = egraph.find(id);
        expected.erase(row);
      }
      const auto describes = [&] {
        return describe(patterns_[p], language_.ops) + "\nin\n" + dump(egraph);
      };
      EXPECT_TRUE(std::includes(all[p].begin(), all[p].end(), after[p].begin(), after[p].end()))
          << "no match: " << describes();
      EXPECT_TRUE(std::includes(after[p].begin(), after[p].end(), expected.begin(), expected.end()))
          << "not found: " << describes();
      found_again_ += after[p].size() - expected.size();
    }
    ++steps_;
  }

  std::vector<Rows> searched(const EGraph& egraph, RuleSearch& search) {
    const std::vector<RuleSearch::Request> requests(patterns_.size(), {std::uint64_t{1} << 40});
    Budget budget{Limits{}};
    EXPECT_FALSE(search.run(egraph, requests, {}, budget, nullptr).has_value());
    std::vector<Rows> result(patterns_.size());
    for (std::size_t p = 0; p < patterns_.size(); ++p) {
      std::size_t count = 0;
      search.found(p).rows.for_each([&](const Match& match) {
        ++count;
        result[p].insert({{match.classes().begin(), match.classes().end()},
                          {match.ops().begin(), match.ops().end()}});
      });
      EXPECT_EQ(count, result[p].size()) << "found twice: " << describe(patterns_[p], egraph.ops());
    }
    return result;
  }

  std::vector<Rows> defined(const EGraph& egraph) const {
    std::vector<Rows> result;
    for (const Pattern& pattern : patterns_) {
      const auto rows = SlowMatcher(egraph, pattern).run();
      result.emplace_back(rows.begin(), rows.end());
    }
    return result;
  }

  CaseLanguage& language_;
  std::vector<Pattern> patterns_;
  std::vector<const Pattern*> pointers_;
  std::size_t steps_ = 0;
  std::size_t found_again_ = 0;
};

// Every `every`-th of the small patterns.
inline std::vector<Pattern> sampled_patterns(const CaseLanguage& language, std::size_t atoms,
                                             std::size_t places, std::size_t every) {
  std::vector<Pattern> patterns;
  std::size_t number = 0;
  for_each_small_pattern(language, atoms, places, false, [&](const Pattern& pattern) {
    if (number++ % every == 0) patterns.push_back(pattern);
  });
  return patterns;
}

}  // namespace egret::egraph
