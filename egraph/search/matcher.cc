// SPDX-License-Identifier: Apache-2.0
#include "egraph/search/matcher.h"

#include "base/check.h"
#include "egraph/search/search_trie.h"
#include "egraph/search/start_lists.h"
#include "egraph/search/trie_walk.h"

namespace egret::egraph {

// The trie refers to the pattern by address, so the matcher owns a copy on the heap. A moved
// matcher keeps that address.
Matcher::Matcher(const Pattern& pattern, const OpTable& ops)
    : pattern_(std::make_unique<const Pattern>(pattern)) {
  const Pattern* const one[] = {pattern_.get()};
  trie_ = std::make_unique<SearchTrie>(one, ops);
}

Matcher::~Matcher() = default;
Matcher::Matcher(Matcher&&) noexcept = default;
Matcher& Matcher::operator=(Matcher&&) noexcept = default;

// Runs the cheapest full plan over all its starts. The limit is one more than max_matches, because
// the walk stops as soon as the limit is reached.
SearchEnd Matcher::search(const EGraph& egraph, std::uint64_t max_matches, Budget& budget,
                          MatchBuffer& out) {
  EGRET_CHECK(egraph.clean(), "search before rebuild()");
  trie_->learn_symbols(egraph.ops());
  const ConstantClasses constants(*trie_, egraph);
  if (!constants.permit(0)) return SearchEnd::kComplete;
  const SearchTrie::Plan& plan = *cheapest_plan(egraph, constants, *trie_, 0).plan;
  SearchPass pass(*trie_);
  pass.activate(plan);

  TrieWalk walk(*trie_, egraph);
  TrieWalk::Sink& sink = walk.sinks()[0];
  sink.rows = &out;
  if (max_matches != ~std::uint64_t{0}) sink.limit = max_matches + 1;
  std::deque<std::vector<NodeId>> made;
  for (const auto& start :
       starts_of(egraph, constants, trie_->expansion(plan.root), nullptr, made)) {
    WalkLimits limits;
    limits.ticks = budget.ticks_left();
    limits.budget = &budget;
    const bool within = walk.run(pass, constants.classes(), plan.root, start, limits);
    if (!budget.spend(walk.ticks()) || !within) return SearchEnd::kExhausted;
    if (sink.stopped) return SearchEnd::kCapped;
  }
  return SearchEnd::kComplete;
}

}  // namespace egret::egraph
