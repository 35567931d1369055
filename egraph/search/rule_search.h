// SPDX-License-Identifier: Apache-2.0
// The search half of an iteration. It finds the matches of all rules that may run. Each rule looks
// only at what changed since its matches were last applied.
//
// The mode of each rule is chosen anew at each search:
//   full         not applied yet, or too long ago for the e-graph's change record
//   incremental  few nodes of its operators are new: start from each new node
//   filtered     many are new: one full plan, keeping only matches with a new node
// Rules with the same mode and the same changes are searched in one pass over one trie. If a rule's
// inverse yields nothing new and counting shows that this rule cannot either, it is not searched
// (egraph/search/inverse_rules.h).
//
// The limit on a rule's matches (on which a scheduler bans it) counts all its matches in the
// e-graph, old ones included. This reproduces egg's schedule exactly. An incremental search does
// not see old matches. It therefore uses an upper bound: the count of the last full search plus all
// matches found since. Only if the bound exceeds the limit does a second, full search count the
// matches without keeping them.
//
// Deterministic with any number of threads. The start lists are cut into pieces of fixed length.
// Pieces are searched in waves of fixed size, in parallel or one by one. Limits are updated between
// waves, in order of (pass, root, piece).
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
  // Patterns must outlive the object. inverse_of: the result of inverse_rules(), or empty if the
  // rules' content is unknown.
  RuleSearch(std::span<const Pattern* const> patterns, const OpTable& ops,
             std::vector<std::uint32_t> inverse_of = {});
  RuleSearch(const RuleSearch&) = delete;
  RuleSearch& operator=(const RuleSearch&) = delete;

  struct Request {
    std::uint64_t limit = 0;  // of matches; 0: do not search this rule
    // If there are more matches than the limit: keep those found and continue with the rest next
    // time, instead of finding all of them again. The limit then counts new matches only.
    bool resume = false;
    // Group the start nodes by a child, where that is cheap. Matches that share classes then come
    // together, which makes application faster.
    bool gathered = false;
  };
  // The bounds for all rules together.
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

  // Searches the requested rules (one request per rule) on a clean e-graph. Returns the limit that
  // stopped it, if any; the rows must not be used then. `pool` may be null.
  std::optional<StopReason> run(const EGraph& egraph, std::span<const Request> requests,
                                const Room& room, Budget& budget, base::ThreadPool* pool);

  Found& found(std::size_t rule) { return rules_[rule].found; }
  // Releases the rows of a rule.
  void release(std::size_t rule);
  // Records that all matches of the last run() were applied: the next search looks at later changes
  // only. Without this call the matches are found again. `all_hold`: no match was refused.
  void commit(std::size_t rule, bool all_hold = true);
  // Whether some rule, or this rule, has matches left from a resumed search.
  bool has_pending() const;
  bool has_pending(std::size_t rule) const { return !rules_[rule].pending.empty(); }
  // Resets to the state before any application.
  void forget();

  std::size_t bytes() const;

 private:
  enum class Mode : std::uint8_t { kNone, kFull, kFiltered, kIncremental };

  // Starts that a resumed rule has not searched yet, and the plans that begin there.
  struct Pending {
    std::vector<std::uint32_t> plans;
    std::uint32_t root = 0;
    std::vector<NodeId> nodes;
    std::size_t class_begin = 0;
    std::size_t class_end = 0;
  };
  struct Rule {
    std::optional<Sighting> applied;  // all matches of that state were applied, except `pending`
    std::uint64_t known = 0;          // an upper bound on their number
    std::size_t found_before = 0;     // rows, in the last search
    std::vector<Pending> pending;
    bool all_hold = true;  // all equations of its matches hold in the e-graph
    // State of the current search.
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
  // The matches that one item found for one rule: rows of a buffer, from `begin` on.
  struct Part {
    std::uint32_t rule = 0;
    TrieWalk::Sink sink;
    std::size_t begin = 0;
    MatchBuffer* rows = nullptr;
  };
  // The results of one item.
  struct Output {
    std::vector<Part> parts;
    std::uint64_t ticks = 0;
    double seconds = 0;
  };
  // The per-thread state of a search.
  struct Worker {
    TrieWalk walk;
    std::vector<MatchBuffer*> open;  // by rule: where its next rows go
  };
  class Wave;

  // rule_search.cc: chooses the plans.
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

  // rule_search_waves.cc: executes them.
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

  // State of the current search.
  const EGraph* egraph_ = nullptr;
  Sighting now_;
  std::vector<std::unique_ptr<Delta>> deltas_;
  std::vector<SearchPass> passes_;
  std::vector<Mode> pass_modes_;
  std::vector<Item> items_;
  std::deque<std::vector<NodeId>> made_starts_;   // start lists that the e-graph does not store
  std::vector<Output> outputs_;                   // of one wave
  std::vector<std::unique_ptr<Worker>> workers_;  // idle workers
};

}  // namespace egret::egraph
