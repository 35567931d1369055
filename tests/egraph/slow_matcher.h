// SPDX-License-Identifier: Apache-2.0
// Matching by definition: every atom tries every visible node, every variable that no atom binds
// tries every class. No order, no index, nothing to get wrong.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "egraph/core/egraph.h"
#include "egraph/core/pattern.h"

namespace egret::egraph {

class SlowMatcher {
 public:
  using Row = std::pair<std::vector<ClassId>, std::vector<OpId>>;

  SlowMatcher(const EGraph& egraph, const Pattern& pattern) : egraph_(egraph), pattern_(pattern) {
    for (const ClassId id : egraph.classes()) {
      for (const NodeId node : egraph.nodes(id)) nodes_.emplace_back(id, node);
    }
  }

  // All matches, with how often each was found (which must be once).
  std::multiset<Row> run() {
    rows_.clear();
    Row row{std::vector<ClassId>(pattern_.var_count()), std::vector<OpId>(pattern_.op_var_count())};
    assign_atom(0, row);
    return rows_;
  }

 private:
  // Recursion depth is the number of atoms: patterns of tests are small.
  void assign_atom(std::size_t i, const Row& row) {
    if (i == pattern_.atoms().size()) return assign_free(0, row);
    const Pattern::Atom& atom = pattern_.atoms()[i];
    for (const auto& [id, node] : nodes_) {
      const OpId op = egraph_.op(node);
      const auto children = egraph_.children(node);
      Row next = row;
      if (children.size() != atom.children.size()) continue;
      if (atom.op.valid() && atom.op != op) continue;
      if (!atom.op.valid()) {
        if (egraph_.ops().base_of(op) != atom.base || !pattern_.allowed(atom.capture, op)) continue;
        if (!unify(next.second[atom.capture.index()], op)) continue;
      }
      bool fits = unify(next.first[atom.result.index()], id);
      for (std::size_t c = 0; c < children.size(); ++c) {
        fits = fits && unify(next.first[atom.children[c].index()], egraph_.find(children[c]));
      }
      if (fits) assign_atom(i + 1, next);
    }
  }
  void assign_free(std::size_t var, const Row& row) {
    if (var == pattern_.var_count()) {
      rows_.insert(row);
    } else if (row.first[var].valid()) {
      assign_free(var + 1, row);
    } else {
      for (const ClassId id : egraph_.classes()) {
        Row next = row;
        next.first[var] = id;
        assign_free(var + 1, next);
      }
    }
  }
  template <typename AnyId>
  static bool unify(AnyId& bound, AnyId value) {
    if (!bound.valid()) bound = value;
    return bound == value;
  }

  const EGraph& egraph_;
  const Pattern& pattern_;
  std::vector<std::pair<ClassId, NodeId>> nodes_;
  std::multiset<Row> rows_;
};

}  // namespace egret::egraph
