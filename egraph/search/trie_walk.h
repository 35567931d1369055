// SPDX-License-Identifier: Apache-2.0
// The hot loop of searching: backtracks through a SearchTrie from a list of nodes, for all patterns
// at once.
//
// One walk runs on one thread. Walks over parts of one list may run in parallel, because they only
// read the e-graph, the trie and the pass. The result of a walk depends on these and on its start
// alone. The walk uses explicit frames instead of recursion: its depth is that of the longest
// pattern, which is user input.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "egraph/core/delta.h"
#include "egraph/core/egraph.h"
#include "egraph/search/limits.h"
#include "egraph/search/match_buffer.h"
#include "egraph/search/search_trie.h"

namespace egret::egraph {

// The plans to follow and their purpose. Prepared once and shared by all walks of a search.
class SearchPass {
 public:
  explicit SearchPass(const SearchTrie& trie);

  // Only active plans are followed. The constants of their patterns must be bound.
  void activate(const SearchTrie::Plan& plan);
  void deactivate(std::uint32_t pattern);
  bool is_active(std::uint32_t plan) const { return active_[plan] != 0; }
  // Whether an active plan begins with this expansion.
  bool reaches(std::uint32_t root) const { return live_expansions_[root] != 0; }

  // All plans that were ever activated, sorted by root, pattern and plan.
  struct Entry {
    std::uint32_t root;
    std::uint32_t pattern;
    std::uint32_t plan;
    friend auto operator<=>(const Entry&, const Entry&) = default;
  };
  std::span<const Entry> entries_of(std::uint32_t root) const;

  const Delta* delta = nullptr;  // what is new; null: everything
  bool only_new = false;         // drop matches without a new node,
  bool count_old = false;        // but count them against the limit
  bool keep_rows = true;         // otherwise matches are only counted

 private:
  friend class TrieWalk;
  void add(const SearchTrie::Plan& plan, int sign);

  const SearchTrie* trie_;
  std::vector<Entry> entries_;        // sorted
  std::vector<std::uint8_t> active_;  // by plan
  // The number of active plans through each expansion and branch.
  std::vector<std::uint32_t> live_expansions_;
  std::vector<std::uint32_t> live_branches_;
};

// The classes of the trie's constants in an e-graph, and the patterns that they permit.
class ConstantClasses {
 public:
  ConstantClasses(const SearchTrie& trie, const EGraph& egraph);

  std::span<const ClassId> classes() const { return classes_; }  // invalid where there is none
  // Whether all constants of the pattern exist and meet its requirements.
  bool permit(std::uint32_t pattern) const;
  // Whether a constant of the pattern is new. Then any of its matches may be new.
  bool changed(std::uint32_t pattern, const Delta& delta) const;

 private:
  const SearchTrie& trie_;
  const EGraph& egraph_;
  std::vector<NodeId> nodes_;
  std::vector<ClassId> classes_;
};

// Limits and counters shared by walks that run in parallel.
struct WalkLimits {
  std::uint64_t ticks = Limits::kNone;  // of this walk
  const Budget* budget = nullptr;       // for the clock
  std::uint64_t rows = Limits::kNone;   // of all walks together
  std::uint64_t bytes = Limits::kNone;  // of their rows
  std::atomic<std::uint64_t>* all_rows = nullptr;
  std::atomic<std::uint64_t>* all_bytes = nullptr;
  std::atomic<bool>* stop = nullptr;  // set by a walk that reaches a limit
};

class TrieWalk {
 public:
  // The result of a walk for one pattern.
  struct Sink {
    MatchBuffer* rows = nullptr;
    std::uint64_t limit = ~std::uint64_t{0};  // matches to stop after,
    bool whole_starts = false;                // though not before all of a start are found
    std::uint64_t seen = 0;                   // against the limit
    std::uint64_t found = 0;                  // rows
    bool stopped = false;                     // at the limit,
    std::size_t stopped_at = 0;               // after so many starts
  };
  // The start of a walk: nodes, or classes for patterns of one free variable.
  struct Start {
    std::span<const NodeId> nodes;
    std::size_t class_begin = 0;
    std::size_t class_end = 0;
  };

  TrieWalk(const SearchTrie& trie, const EGraph& egraph);

  // The sinks of all patterns, by index. The caller sets them before run() and reads them
  // afterwards.
  std::vector<Sink>& sinks() { return sinks_; }

  // Follows all active plans that begin with `root`, from each start. Returns false if a limit was
  // reached; the sinks then hold a part of the result.
  bool run(const SearchPass& pass, std::span<const ClassId> constants, std::uint32_t root,
           const Start& start, const WalkLimits& limits);

  std::uint64_t ticks() const { return ticks_; }  // nodes looked at in the last run()

 private:
  struct Frame {
    const SearchTrie::Expansion* expansion = nullptr;
    std::uint32_t expansion_index = 0;
    const NodeId* next = nullptr;
    const NodeId* end = nullptr;
    std::size_t index = 0;  // kEveryClass: the next class; a base's operators
    std::size_t index_end = 0;
    std::vector<NodeId> drawn;  // what is in no list of the e-graph
    NodeId node;                // the present one
    std::uint32_t branch = 0;   // the present one of the expansion's branches, and
    std::uint32_t child = 0;    // its next expansion; 0: filters are still to be asked
    bool fresh = false;         // some node so far is new
  };

  void open(Frame& frame, std::uint32_t expansion);
  std::span<const NodeId> draw(const SearchTrie::Expansion& expansion, std::vector<NodeId>& drawn);
  void draw_parents(const SearchTrie::Expansion& expansion, std::vector<NodeId>& drawn);
  std::span<const NodeId> draw_class(const SearchTrie::Expansion& expansion) const;
  bool advance(Frame& frame, bool fresh_above);
  static constexpr std::uint32_t kNone = 0xffffffffU;
  bool walk_last(const SearchTrie::Expansion& expansion, std::span<const NodeId> list,
                 bool fresh_above);
  void find_matches(const SearchTrie::Expansion& expansion, std::span<const NodeId> list,
                    bool fresh_above);
  std::uint32_t only_plan(const SearchTrie::Expansion& expansion) const;
  bool find_matches_of(const SearchTrie::Expansion& expansion, std::uint32_t plan,
                       std::span<const NodeId> list, bool fresh_above);
  class RowPattern;
  void write_matches(const SearchTrie::Expansion& expansion, const SearchTrie::Plan& plan,
                     std::span<const NodeId> list, const Delta* delta);
  template <std::size_t kChildren>
  void write_rows(const RowPattern& pattern, OpId op, Sink& sink, std::span<const NodeId> list,
                  const Delta* delta);
  void count_rows(Sink& sink, std::size_t found, std::size_t old);
  bool bind(const SearchTrie::Expansion& expansion, NodeId node);
  bool passes(const SearchTrie::Branch& branch, NodeId node) const;
  void emit(const SearchTrie::Branch& branch, bool fresh);
  void stop_pattern(std::uint32_t pattern);
  void stop_due_patterns();
  bool check_limits();

  const SearchTrie& trie_;
  const EGraph& egraph_;
  const SearchPass* pass_ = nullptr;
  const WalkLimits* limits_ = nullptr;
  std::vector<ClassId> registers_;
  std::vector<OpId> op_registers_;
  std::vector<Frame> frames_;
  std::vector<Sink> sinks_;
  // The arrays of the pass, or private copies once a pattern reached its limit.
  const std::uint8_t* active_ = nullptr;
  const std::uint32_t* live_expansions_ = nullptr;
  const std::uint32_t* live_branches_ = nullptr;
  SearchPass own_;
  bool owns_ = false;
  std::vector<std::uint32_t> due_;  // patterns to stop after the present start
  Start start_;
  std::uint64_t ticks_ = 0;
  std::uint64_t next_check_ = 0;
  std::uint64_t rows_ = 0;   // since the last check
  std::uint64_t bytes_ = 0;  // of them
};

}  // namespace egret::egraph
