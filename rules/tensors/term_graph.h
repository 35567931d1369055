// SPDX-License-Identifier: Apache-2.0
// One program at a time: what optimizers do that rewrite whole graphs.
//
// The programs share a TensorEGraph in which nothing is ever merged. A class then has one node and
// is a term; equal terms are one class; a program is the terms of its outputs. Rewriting a program
// makes new terms for what changes and for all that depends on it, and leaves the old ones to other
// programs. No program has a cycle, whatever rules do.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "egraph/search/rewrite.h"
#include "rules/tensors/tensor_egraph.h"

namespace egret::rules {

// The terms of one program, with what finding matches in it takes.
//
// Invariants: terms() holds what the outputs need, each once, children first; users(t) are the
// terms among them that t is a child of, each once.
class TermGraph {
 public:
  // O(terms of the program).
  TermGraph(const TensorEGraph& terms, std::vector<egraph::ClassId> outputs);

  std::span<const egraph::ClassId> outputs() const { return outputs_; }
  std::span<const egraph::ClassId> terms() const { return terms_; }
  std::span<const egraph::ClassId> users(egraph::ClassId term) const;
  std::span<const egraph::ClassId> with_base(egraph::BaseId base) const;

 private:
  std::vector<egraph::ClassId> outputs_;
  std::vector<egraph::ClassId> terms_;
  boost::unordered_flat_map<egraph::ClassId, std::uint32_t, std::hash<egraph::ClassId>>
      place_;                              // in terms_
  std::vector<std::uint32_t> user_begin_;  // by place, one more
  std::vector<egraph::ClassId> users_;
  std::vector<std::vector<egraph::ClassId>> by_base_;
};

// The node of a term.
inline egraph::NodeId node_of(const egraph::EGraph& terms, egraph::ClassId term) {
  return terms.nodes(term).front();
}

// Calls `visit` for each match of the pattern in the program, in an order that depends on these two
// alone. Conditions of rules are not asked. What `visit` adds to the e-graph is not seen. Patterns
// with a variable in no atom have no match here.
void for_each_match(const TensorEGraph& terms, const TermGraph& program,
                    const egraph::Pattern& pattern,
                    const std::function<void(const egraph::Match&)>& visit);

// From a term of the program to what stands in its place.
using Replacement = std::pair<egraph::ClassId, egraph::ClassId>;

// What the rule makes of a match: terms of other types are no replacement. Nothing where it does
// not apply or changes nothing.
std::vector<Replacement> replacements(TensorEGraph& terms, const egraph::Rewrite& rule,
                                      const egraph::Match& match);

// The outputs of the program in which the uses of terms are uses of what stands in their places.
// Fails when the analysis refuses a term. O(terms of the program) at most.
base::Result<std::vector<egraph::ClassId>> replaced(TensorEGraph& terms, const TermGraph& program,
                                                    std::span<const Replacement> by);

// For each node of a graph its term, where there is one.
std::vector<egraph::ClassId> terms_of(TensorEGraph& terms, const ir::Graph& graph);

// The program as a graph.
base::Result<ir::Graph> to_graph(const TensorEGraph& terms, const TermGraph& program);

}  // namespace egret::rules
