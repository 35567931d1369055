// SPDX-License-Identifier: Apache-2.0
// Which merge joined which two terms (the proof forest of Nieuwenhuis and Oliveras, Fast Congruence
// Closure and Extensions, 2007), found out after the fact.
//
// The log names classes. What a merge joined are two terms of them: of a congruence, two terms with
// the operator and the children that it names; of a rule, a term that is congruent to the instance
// of its left side, and one congruent to the right. They are sought among the terms that were equal
// at that time. So each class becomes a tree of its terms, and since merges only ever join what was
// apart, all links between two terms that were equal at time t are older than t: whatever a proof
// needs, was true before.
//
// Points are what proofs go through: the terms of the log, by their LogTerm, and instances of
// expressions of rules, each congruent to some term of the log, its anchor.
//
// A class's tree is built when it is first needed: O(its merges * size of a rule), expected.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "egraph/core/rule_form.h"
#include "egraph/proofs/merge_history.h"

namespace egret::egraph {

using PointId = base::Id<struct PointIdTag>;

class ProofForest {
 public:
  using Time = MergeHistory::Time;

  explicit ProofForest(const MergeHistory& history);

  // ---- links: merges by their time ----

  struct Ends {
    LogTerm from;
    LogTerm to;
  };
  // A step of a way through a tree.
  struct Hop {
    Time link;
    bool forward;  // from `from` to `to`
  };
  // The way between two terms of one class; of all merges' kinds. Fails when the log does not hold
  // together (a rule was applied to what it does not match).
  base::Result<std::vector<Hop>> path(LogTerm from, LogTerm to);
  // How many rules, axioms and congruences it takes.
  base::Result<std::uint32_t> distance(LogTerm a, LogTerm b);

  // Builds the tree of a term's class, if there is none yet.
  base::Status grow(LogTerm term);
  Ends ends(Time link) const { return ends_[link]; }
  // Calls visit(link, other end) for the links of a term whose tree is built.
  template <typename Visit>
  void for_each_link(LogTerm term, Visit visit) const {
    for (std::uint32_t half = first_half_[term.index()]; half != kNone; half = next_half_[half]) {
      const Ends& e = ends_[half / 2];
      visit(half / 2, half % 2 == 0 ? e.to : e.from);
    }
  }

  // What a rule or an axiom said: the points that it made equal, and what it needed.
  struct Instance {
    PointId left;   // congruent to ends().from
    PointId right;  // congruent to ends().to
    std::uint32_t equation = 0;
    std::vector<std::pair<PointId, PointId>> premises;  // the rule's, then those cited
    std::vector<PointId> substitution;
    std::vector<OpId> captured_ops;
  };
  base::Result<Instance> instance(Time link);

  // ---- points ----

  OpId op(PointId point) const;
  std::size_t arity(PointId point) const;
  PointId child(PointId point, std::size_t i) const;
  LogTerm anchor(PointId point) const;  // the term of the log to which it is congruent
  std::size_t point_count() const { return history_.term_count() + virtual_.size(); }
  static PointId point(LogTerm term) { return PointId(term.index()); }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffU;

  struct Application;
  class Instantiation;
  struct Virtual {
    OpId op;
    LogTerm anchor;
    std::vector<PointId> children;
  };
  using Candidates = std::vector<std::vector<LogTerm>>;  // by variable

  Application read_application(const MergeHistory::Merge& merge) const;
  OpId operator_of(const RuleForm::Expression& e, const Application& application) const;
  std::vector<LogTerm> candidates_of(const RuleForm::Expression& e, const Application& application,
                                     const Candidates& found, Time at) const;
  Candidates find_candidates(const Application& application, Time at) const;
  LogTerm choose(const std::vector<LogTerm>& candidates, LogTerm equal_to, Time at) const;
  base::Result<Ends> find_ends(Time link) const;
  base::Status broken(Time link) const;

  const MergeHistory& history_;
  std::vector<Virtual> virtual_;

  std::vector<std::uint32_t> class_begin_;  // by root: where its merges begin in class_merges_
  std::vector<Time> class_merges_;
  std::vector<Ends> ends_;                 // by link; invalid before grow()
  std::vector<std::uint32_t> first_half_;  // by term; half 2m is at from(m), 2m + 1 at to(m)
  std::vector<std::uint32_t> next_half_;
  std::vector<std::uint32_t> depth_;  // by term; kNone before grow()
  std::vector<Hop> up_;               // by term: the hop towards the root of its tree
};

}  // namespace egret::egraph
