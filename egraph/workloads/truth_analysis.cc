// SPDX-License-Identifier: Apache-2.0
#include "egraph/workloads/truth_analysis.h"

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

base::Result<Analysis::Data> TruthAnalysis::make(const EGraph& egraph, OpId op,
                                                 std::span<const ClassId> children) {
  if (op == true_ || op == false_) return known(op == true_);
  if (children.empty()) return Data{kUnknown};
  for (const ClassId child : children) {
    if (egraph.data(child) == kUnknown) return Data{kUnknown};
  }
  const bool a = egraph.data(children[0]) == kTrue;
  if (op == not_) return known(!a);
  if (children.size() != 2) return Data{kUnknown};
  const bool b = egraph.data(children[1]) == kTrue;
  if (op == and_) return known(a && b);
  if (op == or_) return known(a || b);
  if (op == implies_) return known(!a || b);
  return Data{kUnknown};
}

base::Result<Analysis::Data> TruthAnalysis::merge(Data a, Data b) {
  if (a == kUnknown || a == b) return b;
  if (b == kUnknown) return a;
  return base::bad_input("true and false cannot be equal");
}

void TruthAnalysis::modify(EGraph& egraph, ClassId id) {
  const Data data = egraph.data(id);
  if (data == kUnknown) return;
  const auto node = egraph.add(data == kTrue ? true_ : false_);
  if (node.ok()) (void)egraph.merge(id, *node);
}

}  // namespace egret::egraph::workloads
