// SPDX-License-Identifier: Apache-2.0
// A compiled search for one Pattern on a clean e-graph, for goals, queries and tests. (A Runner
// searches all its rules together: egraph/search/rule_search.h.)
//
// Each search chooses its first atom by counts: the rarest operator, or the parents of a constant
// of the pattern. Every further step uses the narrowest index (egraph/search/join_plan.h).
//
// The order of matches depends on the e-graph and the pattern alone.
#pragma once

#include <cstdint>
#include <memory>

#include "egraph/core/egraph.h"
#include "egraph/core/pattern.h"
#include "egraph/search/limits.h"
#include "egraph/search/match_buffer.h"

namespace egret::egraph {

class SearchTrie;
class TrieWalk;

enum class SearchEnd : unsigned char {
  kComplete,   // all matches are in the buffer
  kCapped,     // there are more than max_matches
  kExhausted,  // the budget is spent; the buffer holds some of the matches
};

class Matcher {
 public:
  // Copies the pattern. Every atom must have its operator's arity.
  Matcher(const Pattern& pattern, const OpTable& ops);
  ~Matcher();
  Matcher(Matcher&&) noexcept;
  Matcher& operator=(Matcher&&) noexcept;

  const Pattern& pattern() const { return *pattern_; }
  MatchBuffer make_buffer() const { return {pattern_->var_count(), pattern_->op_var_count()}; }

  // Appends at most max_matches + 1 matches to `out`. The e-graph must be clean().
  SearchEnd search(const EGraph& egraph, std::uint64_t max_matches, Budget& budget,
                   MatchBuffer& out);

 private:
  std::unique_ptr<const Pattern> pattern_;
  std::unique_ptr<SearchTrie> trie_;
};

}  // namespace egret::egraph
