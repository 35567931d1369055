// SPDX-License-Identifier: Apache-2.0
// Programs one at a time, for optimizers that rewrite whole graphs.
//
// The programs share a TensorEGraph in which nothing is ever merged. A class then has one node and
// is a term; equal terms are one class. A program is the set of terms that its outputs need.
// Rewriting a program makes new terms for what changes and for everything that depends on it. The
// old terms remain for other programs. No program has a cycle, whatever the rules do.
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

// The terms of one program, with the indices for matching in it.
//
// Invariants: terms() holds the terms that the outputs need, each once, children first. users(t)
// are the terms among them that have t as a child, each once.
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

// Calls `visit` for each match of the pattern in the program. The order depends only on these two.
// Conditions of rules are not evaluated. Nodes that `visit` adds to the e-graph are not seen. A
// pattern with a free variable (in no atom) has no match here.
void for_each_match(const TensorEGraph& terms, const TermGraph& program,
                    const egraph::Pattern& pattern,
                    const std::function<void(const egraph::Match&)>& visit);

// A term of the program and its replacement.
using Replacement = std::pair<egraph::ClassId, egraph::ClassId>;

// The replacements that the rule makes for a match. Empty if the rule does not apply, changes
// nothing, or gives a term of another type.
std::vector<Replacement> replacements(TensorEGraph& terms, const egraph::Rewrite& rule,
                                      const egraph::Match& match);

// The outputs of the program after replacing all uses of the terms. Fails if the analysis refuses a
// term. At most O(terms of the program).
base::Result<std::vector<egraph::ClassId>> replaced(TensorEGraph& terms, const TermGraph& program,
                                                    std::span<const Replacement> by);

// The term of each node of a graph, if it exists.
std::vector<egraph::ClassId> terms_of(TensorEGraph& terms, const ir::Graph& graph);

// The program as a graph.
base::Result<ir::Graph> to_graph(const TensorEGraph& terms, const TermGraph& program);

}  // namespace egret::rules
