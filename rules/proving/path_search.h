// SPDX-License-Identifier: Apache-2.0
// Choices on other paths: what one run of a rule over symbols decided is decided otherwise, one
// decision at a time, by numbers that are looked for ("generational search": Godefroid, Levin,
// Molnar, Automated Whitebox Fuzz Testing, NDSS 2008). It finds instances for which several numbers
// must be right at once, which random ones seldom are.
//
// A run that ends because types do not fit is as good as another: its last decisions are turned
// first, until types fit. Decisions not seen the other way yet, in the same context (the ranks and
// the attributes that pick axes), come before others. Finding no numbers says nothing.
// Deterministic for a seed.
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
    int idle = 60;  // most runs without one that is said to be new
  };

  // `like`, an instance, says what is not chosen. The rule outlives the search.
  PathSearch(const Rule& rule, const Instance& like, Limits limits, base::Random random)
      : rule_(rule), tracer_(rule, like), limits_(limits), random_(random) {}

  void start_from(const Choice& choice) { run(choice); }
  // The next choice whose types fit; nullopt when a limit is reached or nothing is left to turn.
  std::optional<Choice> next();
  // The choice that next() gave led to something new: looking on is worth while.
  void was_new() { idle_ = 0; }

 private:
  struct Run {
    Choice choice;
    Trace trace;
    int context;
  };
  // A decision to be made otherwise: as the negation, or as this value of an attribute.
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
  // Decisions, by context; the nodes are interned, and compared only.
  std::set<std::pair<int, const ir::ExprNode*>> seen_;
  std::set<std::vector<const ir::ExprNode*>> paths_;
  std::set<std::vector<const ir::ExprNode*>> turned_;
};

}  // namespace egret::rules
