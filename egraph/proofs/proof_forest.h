// SPDX-License-Identifier: Apache-2.0
// Determines which merge joined which two terms (the proof forest of Nieuwenhuis and Oliveras, Fast
// Congruence Closure and Extensions, 2007), after the run.
//
// The log names classes, but a merge joins two specific terms of them. A congruence joins two terms
// with the operator and children that it names. A rule joins a term congruent to the instance of
// its left side and one congruent to that of its right side. Both are searched among the terms that
// were equal at that time. Each class thus becomes a tree of its terms. Merges only join what was
// apart, so all links between two terms that were equal at time t are older than t. A proof
// therefore only relies on earlier merges.
//
// Points are the nodes of proofs: the terms of the log (with their LogTerm as number), and
// instances of rule expressions. Each instance is congruent to a term of the log, its anchor.
//
// A class's tree is built on first use: O(its merges * size of a rule) expected.
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
  // One link on a path through a tree, with its direction.
  struct Hop {
    Time link;
    bool forward;  // from `from` to `to`
  };
  // The path between two terms of one class, over merges of all kinds. Fails if the log is
  // inconsistent (a rule was applied to a match that it does not have).
  base::Result<std::vector<Hop>> path(LogTerm from, LogTerm to);
  // The length of that path in links.
  base::Result<std::uint32_t> distance(LogTerm a, LogTerm b);

  // Builds the tree of a term's class, unless it exists.
  base::Status grow(LogTerm term);
  Ends ends(Time link) const { return ends_[link]; }
  // Calls visit(link, other end) for the links of a term whose tree was built.
  template <typename Visit>
  void for_each_link(LogTerm term, Visit visit) const {
    for (std::uint32_t half = first_half_[term.index()]; half != kNone; half = next_half_[half]) {
      const Ends& e = ends_[half / 2];
      visit(half / 2, half % 2 == 0 ? e.to : e.from);
    }
  }

  // The content of a rule's or axiom's merge: the points that it made equal, and its premises.
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
