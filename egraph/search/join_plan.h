// SPDX-License-Identifier: Apache-2.0
// The order in which a search visits the atoms of a pattern (e-matching as a join: Zhang et al.,
// Relational E-Matching, POPL 2022).
//
// A plan visits the atoms one by one. Each step enumerates the shortest list that the bound
// variables permit:
//   lookup    all children are bound                  the hash-cons, one node at most
//   class     the atom's class is bound               that class's nodes, one operator's range
//   parents   a child is bound                        that child's parents
//   operator  nothing is bound                        the operator's nodes
// Shared variables of a multi-pattern are thus joined on an index, never by a Cartesian product.
// Atoms of exact operators without children ("leaves": constants) are looked up before any plan
// begins.
//
// There are two kinds of plans, which find the same matches:
//   full         from any one start; which start is cheapest depends on the e-graph's counts
//   incremental  a match that was not there before has at least one new node, so there is a plan
//                for each atom that starts from the new nodes of that atom's operator. Atoms later
//                in the pattern are then restricted to old nodes, so that a match with several new
//                nodes is found once: by the plan of its last one. (Semi-naive evaluation; Zhang et
//                al., Better Together, PLDI 2023, section 4.3.)
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "egraph/core/ids.h"
#include "egraph/core/pattern.h"

namespace egret::egraph {

struct JoinStep {
  enum class Kind : unsigned char { kLookup, kClass, kParents, kOperator, kEveryClass };
  Kind kind = Kind::kOperator;
  std::uint32_t atom = 0;
  VarId via;         // kClass, kParents: of which class; kEveryClass: which variable
  bool old = false;  // nodes that were there before only
};

using JoinPlan = std::vector<JoinStep>;  // empty: the leaves are all there is

class JoinPlanner {
 public:
  explicit JoinPlanner(const Pattern& pattern);

  // The atoms of exact operators without children.
  std::span<const std::uint32_t> leaves() const { return leaves_; }

  // One plan for each possible first step; at least one. Each finds all matches.
  std::vector<JoinPlan> full_plans() const;
  // Together they find all new matches. Empty if the pattern needs a full plan: a pattern of leaves
  // alone, or one with a free variable (bound by no atom) beside other atoms or variables.
  std::vector<JoinPlan> incremental_plans() const;

 private:
  using Kind = JoinStep::Kind;

  bool is_leaf(std::uint32_t atom) const;
  JoinPlan make_plan(const JoinStep* first) const;
  JoinStep narrowest(const std::vector<bool>& done, const std::vector<bool>& bound) const;

  const Pattern& pattern_;
  std::vector<std::uint32_t> leaves_;
  std::vector<bool> by_leaf_;  // variables that a leaf binds
};

}  // namespace egret::egraph
