// SPDX-License-Identifier: Apache-2.0
// Derivation as a proof: a rule's sides are equal because proven rules rewrite both to one graph.
//
// The rewritings are searched for on an instance, where all is numbers, by breadth from both sides.
// They are then replayed over the symbols of a family (rules/proving/generalization.h): each rule
// is matched and typed again there, and what that takes must follow from the conditions of the
// family. So what is proven is the whole family, by rules that are proven for all sizes.
//
// A rule says that its target is defined wherever its source is. Rewritings of the left side keep
// that; where the right side was rewritten too, that it is defined is an obligation of its own.
//
// Deterministic: bounded by graphs, never by time.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "ir/graph/graph.h"
#include "rules/language/rule.h"

namespace egret::rules {

struct Rewriting {
  ir::NodeId at;
  const Rule* rule = nullptr;
};

struct Rewritings {
  std::vector<Rewriting> left, right;      // of each side, in order; both end in the same graph
  std::vector<std::string> lines() const;  // for people
};

struct RewritingLimits {
  std::size_t graphs = 2000;  // of one search, both sides together
  int depth = 4;              // rewritings of one side
};

// From one side's graph and the other's to one graph; empty when none was found. `rules` outlive
// the result; those with several sources or targets are passed over.
std::optional<Rewritings> find_rewritings(const ir::Graph& left, const ir::Graph& right,
                                          std::span<const Rule> rules,
                                          const RewritingLimits& limits = {});

// Repeats them from two graphs over the symbols of the current scope, which notes what it takes.
// Fails where a rule does not apply, or the ends are not the same.
base::Status replay(const Rewritings& rewritings, const ir::Graph& left, const ir::Graph& right);

}  // namespace egret::rules
