// SPDX-License-Identifier: Apache-2.0
#include "egraph/workloads/truth_analysis.h"

#include <algorithm>

#include "base/small_vector.h"

namespace egret::egraph::workloads {

TruthAnalysis::TruthAnalysis(OpTable& ops)
    : true_(ops.op("true", 0)),
      false_(ops.op("false", 0)),
      not_(ops.op("~", 1)),
      and_(ops.op("&", 2)),
      or_(ops.op("|", 2)),
      implies_(ops.op("->", 2)) {}

std::unique_ptr<Analysis> TruthAnalysis::prepare(OpTable& ops, Syntax&) {
  return std::make_unique<TruthAnalysis>(ops);
}

// Strict: all operands must be known, so (& false ?x) stays unknown here.
Analysis::Data TruthAnalysis::evaluate(OpId op, std::span<const Data> children) const {
  if (children.empty() || std::ranges::count(children, kUnknown) > 0) return kUnknown;
  const bool a = children[0] == kTrue;
  if (op == not_) return known(!a);
  if (children.size() != 2) return kUnknown;
  const bool b = children[1] == kTrue;
  if (op == and_) return known(a && b);
  if (op == or_) return known(a || b);
  if (op == implies_) return known(!a || b);
  return kUnknown;
}

base::Result<Analysis::Data> TruthAnalysis::make(const EGraph& egraph, OpId op,
                                                 std::span<const ClassId> children) {
  if (op == true_ || op == false_) return known(op == true_);
  base::SmallVector<Data, 4> values;
  for (const ClassId child : children) values.push_back(egraph.data(child));
  return evaluate(op, {values.data(), values.size()});
}

base::Result<Analysis::Data> TruthAnalysis::merge(Data a, Data b) {
  if (a == kUnknown || a == b) return b;
  if (b == kUnknown) return a;
  return base::bad_input("true and false cannot be equal");
}

// A proof should state (& true false) = false, not that some formula of the class is false.
void TruthAnalysis::modify(EGraph& egraph, ClassId id) {
  const Data data = egraph.data(id);
  if (data == kUnknown) return;
  const auto node = egraph.add(leaf(data));
  if (!node.ok() || egraph.same(id, *node)) return;
  const ClassId term = egraph.proofs() == nullptr ? ClassId() : evaluated_term(egraph, id);
  (void)egraph.merge(term.valid() ? term : id, *node);
}

// Returns the connective of true and false that gave the class its value, or an invalid id if there
// is none.
ClassId TruthAnalysis::evaluated_term(EGraph& egraph, ClassId id) const {
  const Data data = egraph.data(id);
  const auto listed = egraph.nodes(egraph.find(id));
  const std::vector<NodeId> nodes(listed.begin(), listed.end());  // add() may move them
  for (const NodeId node : nodes) {
    base::SmallVector<Data, 4> values;
    for (const ClassId child : egraph.children(node)) values.push_back(egraph.data(child));
    if (evaluate(egraph.op(node), {values.data(), values.size()}) != data) continue;
    base::SmallVector<ClassId, 4> leaves;
    for (const Data value : values) {
      if (const auto made = egraph.add(leaf(value)); made.ok()) leaves.push_back(*made);
    }
    if (leaves.size() != values.size()) continue;
    const ClassId term = egraph.add_congruent(node, {leaves.data(), leaves.size()});
    if (term.valid()) return term;
  }
  return {};
}

}  // namespace egret::egraph::workloads
