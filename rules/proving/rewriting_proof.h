// SPDX-License-Identifier: Apache-2.0
// Derivation as a proof: a rule's sides are equal because proven rules rewrite both to the same
// graph.
//
// The rewritings are searched on an instance, where everything is numeric, by bidirectional
// breadth-first search. They are then replayed over the symbols of a family
// (rules/proving/generalization.h). There each rule is matched and typed again, and the decisions
// of the replay must follow from the family's conditions. The proof thus covers the whole family,
// by rules proven for all sizes.
//
// A lemma is proven for variables that are inputs. Here they stand for nodes, which must be like
// inputs: of ranks within the lemma's limit, with elements, finite, and integers within their type.
// A node may also be undefined at places, which no input is. A target may read such places where
// its source does not: it must then be shown that each rewritten graph is defined wherever the left
// side is.
//
// Deterministic: bounded by the number of graphs, never by time.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "ir/graph/graph.h"
#include "rules/proving/lemma.h"

namespace egret::rules {

struct Rewriting {
  ir::NodeId at;
  const Lemma* by = nullptr;
};

struct Rewritings {
  std::vector<Rewriting> left, right;      // of each side, in order; both end in the same graph
  std::vector<std::string> lines() const;  // for people
};

struct RewritingLimits {
  std::size_t graphs = 2000;  // of one search, both sides together
  int depth = 4;              // rewritings of one side
};

// Rewritings of both sides to a common graph; nullopt if none were found. `lemmas` must outlive the
// result. Rules with several sources or targets are skipped.
std::optional<Rewritings> find_rewritings(const ir::Graph& left, const ir::Graph& right,
                                          std::span<const Lemma> lemmas,
                                          const RewritingLimits& limits = {});

// Replays the rewritings on two graphs over the symbols of the current scope, which records the
// decisions as conditions. Returns the graph after each step: of the left side, then of the right.
// Fails if a rule does not apply or the final graphs differ.
base::Result<std::vector<ir::Graph>> replay(const Rewritings& rewritings, const ir::Graph& left,
                                            const ir::Graph& right);

}  // namespace egret::rules
