// SPDX-License-Identifier: Apache-2.0
// The search half of an iteration: finds the matches of all rules that may run, each looking only
// at what changed since its matches were last applied.
//
// How each rule is searched is decided anew each time:
//   full         it has not been applied yet, or too long ago for the e-graph to remember
//   incremental  few nodes of its operators are new: start from each of those
//   filtered     many are: one full plan, of whose matches those with a new node are kept
// Rules of one kind that look at the same changes are searched in one pass over one trie. A rule
// whose inverse has nothing left to say is not searched where counting shows that neither has it
// (egraph/search/inverse_rules.h).
//
// Limits on a rule's matches (what makes a scheduler ban it) count all its matches in the e-graph,
// old ones included, as they would without deltas: that is how egg's schedule is kept to the
// letter. An incremental search does not see old matches; it relies on an upper bound, the count of
// the last full search and of all that was found since, and only where the bound is above the limit
// are matches counted, by a full search that keeps none.
//
// Deterministic with any number of threads: the lists that a search starts from are cut into pieces
// of fixed length; pieces are searched in waves of fixed size, side by side or one after the other;
// and limits are updated between waves, in order of (pass, root, piece).
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/system/thread_pool.h"
#include "egraph/core/delta.h"
#include "egraph/core/egraph.h"
#include "egraph/search/limits.h"
#include "egraph/search/match_list.h"
#include "egraph/search/search_trie.h"
#include "egraph/search/spare_buffers.h"
#include "egraph/search/trie_walk.h"

namespace egret::egraph {

class RuleSearch {
 public:
  // Patterns must outlive it. inverse_of: as inverse_rules() gives it; empty where nothing is known
  // of what the rules say.
  RuleSearch(std::span<const Pattern* const> patterns, const OpTable& ops,
             std::vector<std::uint32_t> inverse_of = {});
  RuleSearch(const RuleSearch&) = delete;
  RuleSearch& operator=(const RuleSearch&) = delete;

  struct Request {
    std::uint64_t limit = 0;  // of matches; 0: do not search this rule
    // When there are more: keep those found and go on with the others next time, instead of finding
    // all of them again. The limit then counts new matches only.
    bool resume = false;
    // Begin with nodes of one child after the other's, where that is no great effort: matches that
    // have classes in common then come together, for who applies them.
    bool gathered = false;
  };
  // What all rules together may hold.
  struct Room {
    std::uint64_t matches = Limits::kNone;
    std::uint64_t bytes = Limits::kNone;
  };

  struct Found {
    MatchList rows;
    std::uint64_t count = 0;
    bool exceeded = false;  // more than the limit; unless resumed, rows are then incomplete
    double seconds = 0;     // this rule's share, estimated by its matches
  };

  // Searches the rules asked for (one request each) on a clean e-graph. A limit that stops it is
  // returned; the rows are then of no use. `pool` may be null.
  std::optional<StopReason> run(const EGraph& egraph, std::span<const Request> requests,
                                const Room& room, Budget& budget, base::ThreadPool* pool);

  Found& found(std::size_t rule) { return rules_[rule].found; }
  // Frees the rows.
  void release(std::size_t rule);
  // All matches that the last run() found were applied: the next looks at what changes from there.
  // Without this call they will be found again. `all_hold`: none of them was refused.
  void commit(std::size_t rule, bool all_hold = true);
  // Whether some rule has matches left for next time, or this one has.
  bool has_pending() const;
  bool has_pending(std::size_t rule) const { return !rules_[rule].pending.empty(); }
  // As if nothing had been applied yet.
  void forget();

  std::size_t bytes() const;

 private:
  enum class Mode : std::uint8_t { kNone, kFull, kFiltered, kIncremental };

  // Starts that a resumed rule has still to look at, and the plans that begin there.
  struct Pending {
    std::vector<std::uint32_t> plans;
    std::uint32_t root = 0;
    std::vector<NodeId> nodes;
    std::size_t class_begin = 0;
    std::size_t class_end = 0;
  };
  struct Rule {
    std::optional<Sighting> applied;  // all matches of that state were applied, but for `pending`
    std::uint64_t known = 0;          // and there were at most so many
    std::size_t found_before = 0;     // rows, in the last search
    std::vector<Pending> pending;
    bool all_hold = true;  // what they say is so
    // Of the present search.
    Request request;
    Mode mode = Mode::kNone;
    bool counting = false;   // a second search, for the number of matches alone
    bool closed = false;     // the limit was reached,
    bool skipped = false;    // in an earlier wave
    std::uint64_t seen = 0;  // matches counted against the limit,
    std::uint64_t seen_before_wave = 0;
    std::vector<Pending> put_off;
    Found found;
  };
  struct Item {
    std::uint32_t pass = 0;
    std::uint32_t root = 0;
    TrieWalk::Start start;
  };
  // What one item found of one rule: rows of a buffer, from `begin` on.
  struct Part {
    std::uint32_t rule = 0;
    TrieWalk::Sink sink;
    std::size_t begin = 0;
    MatchBuffer* rows = nullptr;
  };
  // What one item found.
  struct Output {
    std::vector<Part> parts;
    std::uint64_t ticks = 0;
    double seconds = 0;
  };
  // What a thread searches with, one at a time.
  struct Worker {
    TrieWalk walk;
    std::vector<MatchBuffer*> open;  // by rule: where its next rows go
  };
  class Wave;

  // rule_search.cc: which plans to follow.
  void reset(std::span<const Request> requests);
  Mode choose_mode(const ConstantClasses& constants, std::uint32_t rule, const Delta*& delta);
  const Delta* delta_since(const Sighting& seen);
  bool is_done(std::uint32_t rule) const;
  bool has_said_all(std::uint32_t rule, const Room& room, Budget& budget);
  SearchPass& pass_for(Mode mode, const Delta* delta, bool count_old);
  void make_passes(const ConstantClasses& constants, const Room& room, Budget& budget);
  void make_pending_passes(const ConstantClasses& constants);
  bool make_count_pass(const ConstantClasses& constants);
  void conclude();

  // rule_search_waves.cc: following them.
  void make_items(const ConstantClasses& constants);
  std::optional<std::size_t> gathers(const SearchPass& pass, std::uint32_t root) const;
  void add_items(std::uint32_t pass, std::uint32_t root, const TrieWalk::Start& start);
  std::optional<StopReason> run_items(const ConstantClasses& constants, const Room& room,
                                      Budget& budget, base::ThreadPool* pool);
  MatchBuffer& open_rows(std::uint32_t rule, bool many);
  void settle(const Item& item, const Output& output);
  void settle_resumed(const Item& item, const Part& part);
  void put_off(const Item& item, std::uint32_t rule, std::size_t from);
  std::size_t end_of_wave(std::size_t begin) const;
  void end_wave();

  SearchTrie trie_;
  std::vector<const Pattern*> patterns_;
  std::vector<std::uint32_t> inverse_of_;
  std::vector<Rule> rules_;

  SpareBuffers spare_;

  // Of the present search.
  const EGraph* egraph_ = nullptr;
  Sighting now_;
  std::vector<std::unique_ptr<Delta>> deltas_;
  std::vector<SearchPass> passes_;
  std::vector<Mode> pass_modes_;
  std::vector<Item> items_;
  std::deque<std::vector<NodeId>> made_starts_;   // what items begin from that is in no list
  std::vector<Output> outputs_;                   // of one wave
  std::vector<std::unique_ptr<Worker>> workers_;  // those not at work
};

}  // namespace egret::egraph
