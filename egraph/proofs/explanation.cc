// SPDX-License-Identifier: Apache-2.0
#include "egraph/proofs/explanation.h"

#include <algorithm>

namespace egret::egraph {

using base::Result;

std::size_t Explanation::rewrites() const {
  return static_cast<std::size_t>(std::ranges::count_if(steps, [](const ProofStep& step) {
    return step.kind == ProofStep::Kind::kRule || step.kind == ProofStep::Kind::kAxiom;
  }));
}

namespace {

// Linearizes a proof tree: visits its rewrites in order and tracks the current whole term. spine_
// holds the subterms from the root to the current position. Entering a congruence premise descends
// to a child; leaving it rebuilds the parent.
class Flattener {
 public:
  Flattener(const Explanation& proof, StepId step, TermTable terms) : proof_(proof) {
    flat_.terms = std::move(terms);
    flat_.start = proof.steps[step.index()].left;
    spine_.push_back(flat_.start);
    tasks_.push_back({Task::Kind::kVisit, step, true});
  }

  FlatExplanation run() {
    while (!tasks_.empty()) {
      const Task task = tasks_.back();
      tasks_.pop_back();
      switch (task.kind) {
        case Task::Kind::kVisit: visit(task.step, task.forward); break;
        case Task::Kind::kEnter:
          position_.push_back(task.child);
          spine_.push_back(flat_.terms.children(spine_.back())[task.child]);
          break;
        case Task::Kind::kLeave: {
          const TermId child = spine_.back();
          spine_.pop_back();
          spine_.back() = flat_.terms.with_child(spine_.back(), position_.back(), child);
          position_.pop_back();
          break;
        }
      }
    }
    return std::move(flat_);
  }

 private:
  struct Task {
    enum class Kind : unsigned char { kVisit, kEnter, kLeave };
    Kind kind;
    StepId step{};
    bool forward = true;
    std::uint32_t child = 0;
  };

  // Tasks are a stack, so they are pushed in reverse order.
  void visit(StepId id, bool forward) {
    using Kind = ProofStep::Kind;
    const ProofStep& step = proof_.steps[id.index()];
    switch (step.kind) {
      case Kind::kReflexivity: break;
      case Kind::kSymmetry:
        tasks_.push_back({Task::Kind::kVisit, step.premises[0], !forward});
        break;
      // Backward, the parts of a chain run from the last to the first.
      case Kind::kTransitivity:
        for (std::size_t i = 0; i < step.premises.size(); ++i) {
          const std::size_t at = forward ? step.premises.size() - 1 - i : i;
          tasks_.push_back({Task::Kind::kVisit, step.premises[at], forward});
        }
        break;
      case Kind::kCongruence:
        // Each proven pair of children is a detour of three tasks: enter the child, rewrite it,
        // leave. Reflexive pairs need no detour.
        for (std::size_t i = step.premises.size(); i-- > 0;) {
          if (proof_.steps[step.premises[i].index()].kind == Kind::kReflexivity) continue;
          tasks_.push_back({Task::Kind::kLeave});
          tasks_.push_back({Task::Kind::kVisit, step.premises[i], forward});
          tasks_.push_back({Task::Kind::kEnter, {}, true, static_cast<std::uint32_t>(i)});
        }
        break;
      case Kind::kRule:
      case Kind::kAxiom: rewrite(id, forward); break;
    }
  }

  // Replaces the subterm at the position and rebuilds the whole term along the spine.
  void rewrite(StepId id, bool forward) {
    const ProofStep& step = proof_.steps[id.index()];
    spine_.back() = forward ? step.right : step.left;
    TermId whole = spine_.back();
    for (std::size_t depth = position_.size(); depth-- > 0;)
      whole = flat_.terms.with_child(spine_[depth], position_[depth], whole);
    flat_.steps.push_back({id, forward, position_, whole});
  }

  const Explanation& proof_;
  FlatExplanation flat_;
  std::vector<Task> tasks_;
  std::vector<std::uint32_t> position_;
  std::vector<TermId> spine_;  // the subterms from the root to the position
};

std::string name_of(const Explanation& proof, const ProofStep& step) {
  return step.kind == ProofStep::Kind::kRule ? proof.rules[step.index]->name()
                                             : "(" + proof.axioms[step.index] + ")";
}

}  // namespace

// Premises have lower numbers than their step, so one pass suffices. A flat proof may be
// exponentially longer than its tree with shared steps; hence the cap.
std::uint64_t Explanation::flat_length(StepId step) const {
  constexpr std::uint64_t kMax = std::uint64_t{1} << 62;
  std::vector<std::uint64_t> lengths(step.index() + 1, 0);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const bool is_rewrite =
        steps[i].kind == ProofStep::Kind::kRule || steps[i].kind == ProofStep::Kind::kAxiom;
    if (is_rewrite) {
      lengths[i] = 1;
      continue;
    }
    for (const StepId premise : steps[i].premises)
      lengths[i] = std::min(kMax, lengths[i] + lengths[premise.index()]);
  }
  return lengths.back();
}

Result<FlatExplanation> Explanation::flat(std::size_t max_steps) const {
  return flat(StepId(steps.size() - 1), terms, max_steps);
}

Result<FlatExplanation> Explanation::flat(StepId step, TermTable table,
                                          std::size_t max_steps) const {
  if (const std::uint64_t length = flat_length(step); length > max_steps) {
    return base::limit_hit("the flat explanation has " + std::to_string(length) +
                           " rewrites, more than the " + std::to_string(max_steps) +
                           " that are allowed; its tree has " + std::to_string(rewrites()));
  }
  return Flattener(*this, step, std::move(table)).run();
}

std::string Explanation::flat_text(std::size_t max_steps) const {
  const Result<FlatExplanation> made = flat(max_steps);
  if (!made.ok()) return made.status().message() + ":\n" + tree_text();
  std::string out = made->terms.text(*ops, made->start) + "\n";
  for (const FlatStep& step : made->steps) {
    out += "= " + made->terms.text(*ops, step.term) + "    by ";
    if (!step.forward) out += "<- ";
    out += name_of(*this, steps[step.step.index()]);
    for (std::size_t i = 0; i < step.position.size(); ++i)
      out += (i == 0 ? " at " : ".") + std::to_string(step.position[i]);
    out += '\n';
  }
  return out;
}

// Shared steps are written once and cited by number, so the text is linear in the tree's size even
// where the flat proof would be exponential.
std::string Explanation::tree_text() const {
  using Kind = ProofStep::Kind;
  std::string out;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const ProofStep& step = steps[i];
    if (step.kind == Kind::kReflexivity && i + 1 < steps.size()) continue;
    out += std::to_string(i + 1) + ". " + terms.text(*ops, step.left) + " = " +
           terms.text(*ops, step.right) + "    by ";
    switch (step.kind) {
      case Kind::kReflexivity: out += "reflexivity"; break;
      case Kind::kSymmetry: out += "symmetry of"; break;
      case Kind::kTransitivity: out += "transitivity of"; break;
      case Kind::kCongruence: out += "congruence of"; break;
      case Kind::kRule:
      case Kind::kAxiom: out += name_of(*this, step); break;
    }
    for (std::size_t k = 0; k < step.substitution.size(); ++k) {
      out +=
          (k == 0 ? " with " : ", ") + rules[step.index]->name(rules[step.index]->substituted()[k]);
      out += " = " + terms.text(*ops, step.substitution[k]);
    }
    if (step.kind == Kind::kRule && !step.premises.empty()) out += " because of";
    for (const StepId premise : step.premises) {
      const bool same = steps[premise.index()].kind == Kind::kReflexivity;
      out += same ? " =" : " " + std::to_string(premise.index() + 1);
    }
    out += '\n';
  }
  return out;
}

}  // namespace egret::egraph
