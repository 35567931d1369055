// SPDX-License-Identifier: Apache-2.0
// Finds choices on other paths. One run of a rule over symbols makes a sequence of decisions. The
// search negates one decision and solves for numbers that follow the changed path ("generational
// search": Godefroid, Levin, Molnar, Automated Whitebox Fuzz Testing, NDSS 2008). It finds
// instances that need several specific numbers at once, which random sampling rarely hits.
//
// A run that ends with unfit types is useful too: its last decisions are negated first, until the
// types fit. Decisions not yet seen with the other outcome in the same context (the ranks and the
// attributes that select axes) have priority. Failing to find numbers proves nothing. Deterministic
// for a seed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "rules/proving/generalization.h"

namespace egret::rules {

class PathSearch {
 public:
  struct Limits {
    int runs = 1000;
    int idle = 60;  // most consecutive runs without one reported as new
  };

  // `like` is an instance that provides what a choice does not contain. The rule must outlive the
  // search.
  PathSearch(const Rule& rule, const Instance& like, Limits limits, base::Random random)
      : rule_(rule), tracer_(rule, like), limits_(limits), random_(random) {}

  void start_from(const Choice& choice) { run(choice); }
  // The next choice whose types fit; nullopt if a limit is reached or no decision is left to
  // negate.
  std::optional<Choice> next();
  // Reports that the choice from next() led to something new, which resets the idle count.
  void was_new() { idle_ = 0; }

 private:
  struct Run {
    Choice choice;
    Trace trace;
    int context;
  };
  // A decision to change: to its negation, or to this value of an attribute.
  struct Turn {
    std::size_t run;
    std::size_t decision;
    std::optional<std::int64_t> value;
  };

  bool run(const Choice& choice);
  int context_of(const Choice& choice, const Trace& trace);
  void plan(std::size_t run);
  std::optional<Turn> next_turn();
  bool is_new(const Turn& turn);
  std::optional<Choice> take(const Turn& turn);
  ir::Guard wanted(const Turn& turn) const;
  Turn drawn(std::vector<Turn>& turns);

  const Rule& rule_;
  Tracer tracer_;
  Limits limits_;
  base::Random random_;
  std::uint64_t draws_ = 0;
  int run_count_ = 0;
  int idle_ = 0;
  std::vector<Run> runs_;
  std::vector<Turn> urgent_;  // of the run that just ended, the best last
  int urgency_ = 0;           // how often in a row such were taken
  std::vector<Turn> unseen_;
  std::vector<Turn> others_;
  std::map<std::string, int> contexts_;
  // The decisions seen, by context. Expression nodes are interned, so pointers identify them; they
  // are only compared.
  std::set<std::pair<int, const ir::ExprNode*>> seen_;
  std::set<std::vector<const ir::ExprNode*>> paths_;
  std::set<std::vector<const ir::ExprNode*>> turned_;
};

}  // namespace egret::rules
