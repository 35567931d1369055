// SPDX-License-Identifier: Apache-2.0
// Finds terms of a class that show what the lambda analysis knows about the class.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/small_vector.h"
#include "egraph/workloads/lambda_analysis.h"

namespace egret::egraph::workloads {

ClassId LambdaAnalysis::folded_term(EGraph& egraph, ClassId id) {
  const ConstantId constant = constant_of(egraph.data(id));
  const auto listed = egraph.nodes(egraph.find(id));
  const std::vector<NodeId> nodes(listed.begin(), listed.end());  // add() may move them
  for (const NodeId node : nodes) {
    const Kind kind = this->kind(egraph.op(node));
    if (kind != Kind::kAdd && kind != Kind::kEqual) continue;
    const auto children = egraph.children(node);
    const ConstantId left = constant_of(egraph.data(children[0]));
    const ConstantId right = constant_of(egraph.data(children[1]));
    if (fold(kind, left, right) != constant) continue;
    const auto a = egraph.add(constant_ops_[left - 1]);
    const auto b = egraph.add(constant_ops_[right - 1]);
    if (!a.ok() || !b.ok()) continue;
    const ClassId term = egraph.add_congruent(node, {*a, *b});
    if (term.valid()) return term;
  }
  return {};
}

// Depth-first search for a term with exactly the free names of its class. For each class it takes
// the oldest node with these free names, on such terms of the children; if a child needs the class
// itself, the next node. Amortized O(1) per class: terms are kept until the class has other names.
class LambdaAnalysis::LeanTerms {
 public:
  LeanTerms(LambdaAnalysis& analysis, EGraph& egraph) : analysis_(analysis), egraph_(egraph) {}

  ClassId term(ClassId in) {
    in = egraph_.find(in);
    if (const ClassId known = analysis_.known_lean_term(egraph_, in); known.valid()) return known;
    push(in);
    while (!stack_.empty()) {
      Frame& top = stack_.back();
      if (top.next == top.nodes.size()) {
        tried_[top.id] = Try::kFailed;
        stack_.pop_back();
      } else if (step(top.nodes[top.next])) {
        stack_.pop_back();
      }
    }
    return analysis_.known_lean_term(egraph_, in);
  }

 private:
  enum class Try : unsigned char { kOpen, kFailed };
  struct Frame {
    ClassId id;
    std::vector<NodeId> nodes;
    std::size_t next = 0;
  };

  void push(ClassId id) {
    tried_[id] = Try::kOpen;
    Frame frame{id, {}, 0};
    const SetId free = set_of(egraph_.data(id));
    for (const NodeId node : egraph_.nodes(id)) {
      if (analysis_.free_names(egraph_, node) == free) frame.nodes.push_back(node);
    }
    std::ranges::sort(frame.nodes);
    stack_.push_back(std::move(frame));
  }

  // Returns whether the class on top of the stack has its term now. If not, either its next node is
  // tried next, or a child was pushed.
  bool step(NodeId node) {
    const Kind kind = analysis_.kind(egraph_.op(node));
    const auto listed = egraph_.children(node);
    base::SmallVector<ClassId, 4> children(listed.begin(), listed.end());
    const bool names_first = kind == Kind::kVar || kind == Kind::kBinder ||
                             kind == Kind::kLet;  // a name is its own term
    for (std::size_t i = names_first ? 1 : 0; i < children.size(); ++i) {
      const ClassId child = egraph_.find(children[i]);
      const ClassId known = analysis_.known_lean_term(egraph_, child);
      if (known.valid()) {
        children[i] = known;
        continue;
      }
      if (tried_.contains(child)) {
        ++stack_.back().next;
      } else {
        push(child);
      }
      return false;
    }
    const ClassId term = egraph_.add_congruent(node, {children.data(), children.size()});
    if (!term.valid()) return ++stack_.back().next, false;
    const ClassId id = stack_.back().id;
    analysis_.lean_terms_.resize(
        std::max(analysis_.lean_terms_.size(), id.index() + std::size_t{1}));
    analysis_.lean_terms_[id.index()] = {set_of(egraph_.data(id)), term.index()};
    return true;
  }

  LambdaAnalysis& analysis_;
  EGraph& egraph_;
  std::vector<Frame> stack_;
  std::map<ClassId, Try> tried_;
};

LambdaAnalysis::SetId LambdaAnalysis::free_names(const EGraph& egraph, NodeId node) {
  const auto word = make(egraph, egraph.op(node), egraph.children(node));
  return word.ok() ? set_of(*word) : ~SetId{0};
}

// Returns the term that was found before, if the class still has the same names.
ClassId LambdaAnalysis::known_lean_term(const EGraph& egraph, ClassId id) const {
  if (id.index() >= lean_terms_.size()) return {};
  const LeanTerm& known = lean_terms_[id.index()];
  return known.free == set_of(egraph.data(id)) ? ClassId(known.term) : ClassId();
}

ClassId LambdaAnalysis::lean_term(EGraph& egraph, ClassId in) {
  // After a restore, ids that were taken back may name other terms.
  if (const std::uint64_t count = egraph.proofs()->restore_count(); count != restores_seen_) {
    lean_terms_.clear();
    restores_seen_ = count;
  }
  return LeanTerms(*this, egraph).term(in);
}

}  // namespace egret::egraph::workloads
