// SPDX-License-Identifier: Apache-2.0
// The part of Explainer that shortens proofs: cheapest paths over all known equalities.
#include <algorithm>
#include <queue>
#include <tuple>

#include "egraph/proofs/explainer.h"

namespace egret::egraph {

using base::Result;
using base::Status;

// The cost of a congruence: the sum of the forest distances between corresponding children. The
// distance is that of the plain proof and counts each child once. It is an upper bound of the true
// cost, because children may have shorter proofs.
Result<std::uint64_t> Explainer::segment_cost(PointId from, PointId to) {
  std::uint64_t cost = 0;
  if (from == to) return cost;
  for (std::size_t i = 0; i < forest_->arity(from); ++i) {
    EGRET_ASSIGN_OR_RETURN(const std::uint32_t hops,
                           forest_->distance(forest_->anchor(forest_->child(from, i)),
                                             forest_->anchor(forest_->child(to, i))));
    cost += hops;
  }
  return cost;
}

// The cost of a link: one step, plus the congruences from its ends to its instance's points.
Result<std::uint64_t> Explainer::link_cost(Time link) {
  if (const auto known = link_costs_.find(link); known != link_costs_.end()) return known->second;
  EGRET_ASSIGN_OR_RETURN(const ProofForest::Instance* const made, instance(link));
  const ProofForest::Ends ends = forest_->ends(link);
  EGRET_ASSIGN_OR_RETURN(const std::uint64_t before,
                         segment_cost(ProofForest::point(ends.from), made->left));
  EGRET_ASSIGN_OR_RETURN(const std::uint64_t after,
                         segment_cost(made->right, ProofForest::point(ends.to)));
  return link_costs_[link] = 1 + before + after;
}

// Dijkstra's algorithm over the terms of a class. A rule or axiom link costs link_cost(); a step
// between congruent terms costs segment_cost(). Falls back to the forest path if more than
// kMaxVisits terms are visited. At most kMaxCongruent congruent terms are tried per term.
Result<std::vector<ProofForest::Hop>> Explainer::short_way(LogTerm from, LogTerm to) {
  constexpr std::size_t kMaxVisits = 5000;
  constexpr std::size_t kMaxCongruent = 32;
  struct Reached {
    std::uint64_t cost;
    LogTerm before;
    Hop hop;
    bool is_link;
    bool done = false;
  };
  using Entry = std::tuple<std::uint64_t, LogTerm>;
  EGRET_RETURN_IF_ERROR(forest_->grow(from));
  boost::unordered_flat_map<std::uint32_t, Reached> reached;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  Status failure;
  const auto offer = [&](LogTerm term, const Reached& way) {
    const auto [entry, fresh] = reached.try_emplace(term.index(), way);
    if (!fresh && entry->second.cost <= way.cost) return;
    entry->second = way;
    queue.emplace(way.cost, term);
  };
  offer(from, {0, from, {}, false});
  queue.emplace(0, from);
  std::size_t visits = 0;
  while (!queue.empty()) {
    const auto [cost, term] = queue.top();
    queue.pop();
    if (term == to) break;
    Reached& here = reached.find(term.index())->second;
    // The queue keeps outdated entries of a term. Only the first one that is taken has the least
    // cost.
    if (here.done) continue;
    here.done = true;
    if (++visits > kMaxVisits) return forest_->path(from, to);
    forest_->for_each_link(term, [&, at = term, so_far = cost](Time link, LogTerm other) {
      if (!failure.ok() || history_->merge(link).kind == ProofLog::Kind::kCongruence) return;
      const Result<std::uint64_t> step = link_cost(link);
      if (!step.ok()) {
        failure = step.status();
        return;
      }
      offer(other, {so_far + *step, at, {link, forest_->ends(link).from == at}, true});
    });
    std::size_t congruent = 0;
    history_->for_each_congruent(term, [&, at = term, so_far = cost](LogTerm other) {
      // A large class can have many congruent terms. Trying all of them at each visit would be
      // quadratic.
      if (!failure.ok() || other == at || ++congruent > kMaxCongruent) return;
      const Result<std::uint64_t> step =
          segment_cost(ProofForest::point(at), ProofForest::point(other));
      if (!step.ok()) {
        failure = step.status();
        return;
      }
      offer(other, {so_far + *step, at, {}, false});
    });
    EGRET_RETURN_IF_ERROR(failure);
  }
  if (!reached.contains(to.index())) return forest_->path(from, to);
  // Only the links are returned. Explainer::add_way() joins two neighbouring links by a congruence.
  std::vector<Hop> way;
  for (LogTerm term = to; term != from;) {
    const Reached& step = reached.find(term.index())->second;
    if (step.is_link) way.push_back(step.hop);
    term = step.before;
  }
  std::ranges::reverse(way);
  return way;
}

}  // namespace egret::egraph
