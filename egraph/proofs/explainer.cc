// SPDX-License-Identifier: Apache-2.0
#include "egraph/proofs/explainer.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace egret::egraph {

using base::Result;
using base::Status;

namespace {

constexpr std::uint64_t kMaxLength = std::uint64_t{1} << 62;

// Lengths of flat proofs may be exponential in the size of the tree, so the sum saturates. Two
// saturated operands still fit into 64 bits.
std::uint64_t add(std::uint64_t a, std::uint64_t b) { return std::min(kMaxLength, a + b); }

}  // namespace

// The algorithm is that of Nieuwenhuis and Oliveras (Proof-Producing Congruence Closure, RTA 2005),
// with the log replayed afterwards: the forest of merges gives a path between two equal terms, and
// the congruences on the path are goals for the children. Short mode compares it with the cheapest
// path over all known equalities (Flatt et al., Small Proofs from Congruence Closure, FMCAD 2022).
Explainer::Explainer(const EGraph& egraph)
    : egraph_(egraph),
      mark_(egraph.proofs() == nullptr ? ProofLog::Mark() : egraph.proofs()->mark()) {
  if (egraph.proofs() == nullptr) return;
  history_ = std::make_unique<MergeHistory>(*egraph.proofs(), egraph.ops());
  forest_ = std::make_unique<ProofForest>(*history_);
}

Status Explainer::check(ClassId a, ClassId b) const {
  if (history_ == nullptr) {
    return base::usage_error("this e-graph records no proofs: call enable_proofs() when it is new");
  }
  if (!egraph_.clean()) return base::usage_error("explanations need a rebuilt e-graph");
  if (egraph_.proofs()->mark() != mark_) {
    return base::usage_error("the e-graph has changed since this explainer was made");
  }
  if (a.index() >= history_->id_count() || b.index() >= history_->id_count()) {
    return base::usage_error("not a class of this e-graph");
  }
  if (!history_->same(history_->term(a), history_->term(b)))
    return base::usage_error("the two terms are not known to be equal");
  return base::ok();
}

// Proofs are built from goals "x equals y" between points (terms of the log, or terms of a rule's
// instance that the log does not hold). Each goal is proven once per mode and cached.
Result<Explanation> Explainer::explain(ClassId a, ClassId b, const ExplainOptions& options) {
  EGRET_RETURN_IF_ERROR(check(a, b));
  const Goal goal{ProofForest::point(history_->term(a)), ProofForest::point(history_->term(b)),
                  options.shorten ? kShort : kPlain};
  EGRET_ASSIGN_OR_RETURN(const StepId step, prove(goal));
  return extract(step);
}

// Depth-first search with an explicit stack: a goal stays on the stack until the subgoals of its
// parts are proven.
Result<StepId> Explainer::prove(const Goal& wanted) {
  if (term(wanted.x) == term(wanted.y)) return reflexivity(term(wanted.x));
  std::vector<Frame> stack;
  stack.push_back({wanted, false, false, {}});
  std::vector<Goal> missing;
  while (!stack.empty()) {
    Frame& frame = stack.back();
    if (state(frame.goal).step.valid()) {
      stack.pop_back();
      continue;
    }
    missing.clear();
    if (!frame.open && frame.goal.mode == kShort) {
      // A short proof rests on the plain one twice: as the bound to beat, and as the way out if the
      // short proof of a subgoal would need this goal again.
      // The plain proof to compare with.
      EGRET_RETURN_IF_ERROR(require({frame.goal.x, frame.goal.y, kPlain}, missing));
    }
    if (missing.empty()) {
      if (!frame.open) EGRET_RETURN_IF_ERROR(open(frame));
      EGRET_RETURN_IF_ERROR(add_subgoals(frame, missing));
    }
    if (missing.empty()) {
      EGRET_ASSIGN_OR_RETURN(const StepId step, assemble(frame));
      GoalState& done = state(frame.goal);
      done.open = false;
      // The cache keeps the step from the lower to the higher term id; the other direction is its
      // symmetry.
      done.step = term(frame.goal.x) < term(frame.goal.y) ? step : reversed(step);
      stack.pop_back();
      continue;
    }
    // The frame stays below its subgoals and is examined again when they are proven. A goal may be
    // pushed twice, by two parents. The second copy then finds it proven.
    for (const Goal& goal : missing) stack.push_back({goal, false, false, {}});
  }
  return proven(wanted);
}

// Finds the path of a goal: through the forest, or, in short mode, by Dijkstra's algorithm. A plain
// proof of at most one step cannot be shortened.
Status Explainer::open(Frame& frame) {
  const Goal& goal = frame.goal;
  frame.open = true;
  state(goal).open = true;
  const LogTerm from = forest_->anchor(goal.x);
  const LogTerm to = forest_->anchor(goal.y);
  if (goal.mode == kPlain) {
    EGRET_ASSIGN_OR_RETURN(const auto way, forest_->path(from, to));
    return add_way(goal, way, frame.parts);
  }
  const StepId plain = proven({goal.x, goal.y, kPlain});
  frame.direct = lengths_[plain.index()] <= 1;
  if (frame.direct) return base::ok();
  EGRET_ASSIGN_OR_RETURN(const auto way, short_way(from, to));
  return add_way(goal, way, frame.parts);
}

// Turns a path into parts. Congruence links are dropped: the points before and after them are
// congruent, so one congruence part joins them. The result alternates between congruence parts and
// links, and begins and ends with a congruence part. A part between identical terms needs no step.
Status Explainer::add_way(const Goal& goal, const std::vector<Hop>& way, std::vector<Part>& parts) {
  PointId at = goal.x;
  for (const Hop& hop : way) {
    if (history_->merge(hop.link).kind == ProofLog::Kind::kCongruence) continue;
    EGRET_ASSIGN_OR_RETURN(const ProofForest::Instance* const made, instance(hop.link));
    const PointId from = hop.forward ? made->left : made->right;
    const PointId to = hop.forward ? made->right : made->left;
    parts.push_back({false, {}, at, from});
    parts.push_back({true, hop, from, to});
    at = to;
  }
  parts.push_back({false, {}, at, goal.y});
  return base::ok();
}

// The subgoals of a frame: the premises of its rules, and the children of its congruent pairs.
Status Explainer::add_subgoals(const Frame& frame, std::vector<Goal>& missing) {
  const Mode mode = frame.goal.mode;
  for (const Part& part : frame.parts) {
    if (part.is_link) {
      EGRET_ASSIGN_OR_RETURN(const ProofForest::Instance* const made, instance(part.hop.link));
      for (const auto& [x, y] : made->premises)
        EGRET_RETURN_IF_ERROR(require({x, y, mode}, missing));
      continue;
    }
    if (term(part.from) == term(part.to)) continue;
    const std::size_t arity = forest_->arity(part.from);
    EGRET_CHECK(forest_->op(part.from) == forest_->op(part.to), "congruent terms of two operators");
    for (std::size_t i = 0; i < arity; ++i) {
      EGRET_RETURN_IF_ERROR(
          require({forest_->child(part.from, i), forest_->child(part.to, i), mode}, missing));
    }
  }
  return base::ok();
}

// Adds a goal to `missing` unless it is proven. In short mode, a goal that is already open would
// depend on itself. It is then proven in plain mode, which is always well-founded.
Status Explainer::require(Goal goal, std::vector<Goal>& missing) {
  if (term(goal.x) == term(goal.y)) return base::ok();
  if (goal.mode == kShort && state(goal).open) goal.mode = kPlain;
  const GoalState& known = state(goal);
  if (known.step.valid()) return base::ok();
  if (known.open) return base::internal_error("an explanation rests on itself");
  missing.push_back(goal);
  return base::ok();
}

// Builds the step of a goal whose subgoals are proven.
Result<StepId> Explainer::assemble(const Frame& frame) {
  const Mode mode = frame.goal.mode;
  std::vector<StepId> steps;
  for (const Part& part : frame.parts) {
    if (part.is_link) {
      const StepId step = link_step(part.hop.link, mode);
      steps.push_back(part.hop.forward ? step : reversed(step));
    } else if (term(part.from) != term(part.to)) {
      steps.push_back(segment_step(part, mode));
    }
  }
  if (mode == kPlain) return chain(std::move(steps));
  const StepId plain = proven({frame.goal.x, frame.goal.y, kPlain});
  if (frame.direct) return plain;
  const StepId shorter = chain(std::move(steps));
  return lengths_[shorter.index()] < lengths_[plain.index()] ? shorter : plain;
}

Result<const ProofForest::Instance*> Explainer::instance(Time link) {
  if (const auto known = instances_.find(link); known != instances_.end())
    return known->second.get();
  EGRET_ASSIGN_OR_RETURN(ProofForest::Instance made, forest_->instance(link));
  auto kept = std::make_unique<const ProofForest::Instance>(std::move(made));
  return instances_.emplace(link, std::move(kept)).first->second.get();
}

// The key of a goal is the unordered pair of its terms, so both directions share one entry.
Explainer::GoalState& Explainer::state(const Goal& goal) {
  std::uint64_t x = term(goal.x).index();
  std::uint64_t y = term(goal.y).index();
  if (x > y) std::swap(x, y);
  return goals_[goal.mode][(x << 32) | y];
}

StepId Explainer::proven(const Goal& goal) {
  if (term(goal.x) == term(goal.y)) return reflexivity(term(goal.x));
  StepId step = state(goal).step;
  if (!step.valid()) step = state({goal.x, goal.y, kPlain}).step;  // it rested on itself
  return term(goal.x) < term(goal.y) ? step : reversed(step);
}

// The congruence step between two terms of one operator, from the proofs of their pairs of
// children.
StepId Explainer::segment_step(const Part& part, Mode mode) {
  ProofStep step;
  step.kind = ProofStep::Kind::kCongruence;
  step.left = term(part.from);
  step.right = term(part.to);
  for (std::size_t i = 0; i < forest_->arity(part.from); ++i)
    step.premises.push_back(
        proven({forest_->child(part.from, i), forest_->child(part.to, i), mode}));
  return add_step(std::move(step));
}

// The step of an axiom or a rule's application, cached per link and mode. Its premises prove the
// equalities under which the pattern matched.
StepId Explainer::link_step(Time link, Mode mode) {
  if (const auto known = link_steps_[mode].find(link); known != link_steps_[mode].end())
    return known->second;
  const ProofForest::Instance& made = *instances_.find(link)->second;
  const MergeHistory::Merge merge = history_->merge(link);
  ProofStep step;
  step.index = merge.index;
  step.left = term(made.left);
  step.right = term(made.right);
  step.kind = ProofStep::Kind::kAxiom;
  if (merge.kind == ProofLog::Kind::kRule) {
    step.kind = ProofStep::Kind::kRule;
    step.equation = made.equation;
    step.rule_premises =
        static_cast<std::uint32_t>(history_->log().rule(merge.index)->premises().size());
    for (const auto& [x, y] : made.premises) step.premises.push_back(proven({x, y, mode}));
    for (const PointId point : made.substitution) step.substitution.push_back(term(point));
    step.captured_ops = made.captured_ops;
  }
  return link_steps_[mode][link] = add_step(std::move(step));
}

// The transitivity step of a sequence. Cycles are cut out: steps between two visits of the same
// term are dropped. Amortized O(steps): each step is added and removed at most once.
StepId Explainer::chain(std::vector<StepId> steps) {
  std::vector<StepId> kept;
  boost::unordered_flat_map<std::uint32_t, std::size_t> reached;  // by term: steps before it
  // A step to a term that was reached before closes a cycle: the steps since then are removed.
  for (const StepId step : steps) {
    const ProofStep& next = steps_[step.index()];
    reached.try_emplace(next.left.index(), kept.size());
    const auto before = reached.find(next.right.index());
    if (before == reached.end()) {
      kept.push_back(step);
      continue;
    }
    while (kept.size() > before->second) {
      reached.erase(steps_[kept.back().index()].right.index());
      kept.pop_back();
    }
    reached.erase(next.left.index());
    reached[next.right.index()] = kept.size();
  }
  EGRET_CHECK(!kept.empty(), "a goal between different terms has a step");
  if (kept.size() == 1) return kept.front();
  ProofStep whole;
  whole.kind = ProofStep::Kind::kTransitivity;
  whole.left = steps_[kept.front().index()].left;
  whole.right = steps_[kept.back().index()].right;
  whole.premises = std::move(kept);
  return add_step(std::move(whole));
}

// Terms are hash-consed, so equal terms have equal ids, and one step serves for all uses.
StepId Explainer::reflexivity(TermId term) {
  if (const auto known = reflexivities_.find(term.index()); known != reflexivities_.end())
    return known->second;
  ProofStep step;
  step.left = step.right = term;
  return reflexivities_[term.index()] = add_step(std::move(step));
}

// Symmetry is never stacked: the reverse of a symmetry step is its premise.
StepId Explainer::reversed(StepId id) {
  if (const auto known = reversed_.find(id.index()); known != reversed_.end()) return known->second;
  const ProofStep& given = steps_[id.index()];
  if (given.kind == ProofStep::Kind::kReflexivity) return id;
  if (given.kind == ProofStep::Kind::kSymmetry) return given.premises[0];
  ProofStep step;
  step.kind = ProofStep::Kind::kSymmetry;
  step.left = given.right;
  step.right = given.left;
  step.premises = {id};
  return reversed_[id.index()] = add_step(std::move(step));
}

// lengths_ holds the number of rewrites of the flat proof, saturated at kMaxLength. Shared steps
// count once per use; the premises of a rule do not count.
StepId Explainer::add_step(ProofStep step) {
  std::uint64_t length = 0;
  if (step.kind == ProofStep::Kind::kRule || step.kind == ProofStep::Kind::kAxiom) {
    length = 1;
  } else {
    for (const StepId premise : step.premises) length = add(length, lengths_[premise.index()]);
  }
  steps_.push_back(std::move(step));
  lengths_.push_back(length);
  return StepId(steps_.size() - 1);
}

// The hash-consed term of a point, with an explicit stack. Cached per point.
TermId Explainer::term(PointId point) {
  if (term_of_.size() < forest_->point_count()) term_of_.resize(forest_->point_count());
  std::vector<PointId> stack{point};
  base::SmallVector<TermId, 8> children;
  while (!stack.empty()) {
    const PointId top = stack.back();
    if (term_of_[top.index()].valid()) {
      stack.pop_back();
      continue;
    }
    children.clear();
    const std::size_t open = stack.size();
    for (std::size_t i = 0; i < forest_->arity(top); ++i) {
      const PointId child = forest_->child(top, i);
      if (!term_of_[child.index()].valid()) stack.push_back(child);
      children.push_back(term_of_[child.index()]);
    }
    if (stack.size() > open) continue;
    term_of_[top.index()] = terms_.make(forest_->op(top), {children.data(), children.size()});
    stack.pop_back();
  }
  return term_of_[point.index()];
}

// Copies the steps and terms that this step depends on, with new numbers.
Explanation Explainer::extract(StepId goal) const {
  std::vector<StepId> needed{goal};
  std::vector<bool> seen(steps_.size());
  seen[goal.index()] = true;
  for (std::size_t i = 0; i < needed.size(); ++i) {
    for (const StepId premise : steps_[needed[i].index()].premises) {
      if (seen[premise.index()]) continue;
      seen[premise.index()] = true;
      needed.push_back(premise);
    }
  }
  // The order of step numbers is a topological order, so each premise has its new number before the
  // step that uses it.
  std::ranges::sort(needed);  // premises were made first

  std::vector<bool> used(terms_.size());
  const auto use = [&](TermId t) { used[t.index()] = true; };
  for (const StepId id : needed) {
    const ProofStep& step = steps_[id.index()];
    use(step.left), use(step.right);
    std::ranges::for_each(step.substitution, use);
  }
  // Children have lower ids than their parents, so one downward pass marks all subterms.
  for (std::size_t t = used.size(); t-- > 0;) {
    if (used[t]) std::ranges::for_each(terms_.children(TermId(t)), use);
  }

  Explanation out;
  out.ops = &egraph_.ops();
  boost::unordered_flat_map<std::uint32_t, TermId> new_terms;
  base::SmallVector<TermId, 8> children;
  for (std::size_t t = 0; t < used.size(); ++t) {
    if (!used[t]) continue;
    children.clear();
    for (const TermId child : terms_.children(TermId(t)))
      children.push_back(new_terms[child.index()]);
    new_terms[static_cast<std::uint32_t>(t)] =
        out.terms.make(terms_.op(TermId(t)), {children.data(), children.size()});
  }
  boost::unordered_flat_map<std::uint32_t, StepId> new_steps;
  boost::unordered_flat_map<std::uint32_t, std::uint32_t> new_rules;
  boost::unordered_flat_map<std::uint32_t, std::uint32_t> new_axioms;
  for (const StepId id : needed) {
    ProofStep step = steps_[id.index()];
    step.left = new_terms[step.left.index()];
    step.right = new_terms[step.right.index()];
    for (TermId& t : step.substitution) t = new_terms[t.index()];
    for (StepId& premise : step.premises) premise = new_steps[premise.index()];
    if (step.kind == ProofStep::Kind::kRule) {
      const auto [entry, fresh] =
          new_rules.try_emplace(step.index, static_cast<std::uint32_t>(out.rules.size()));
      if (fresh) out.rules.push_back(history_->log().rule(step.index));
      step.index = entry->second;
    } else if (step.kind == ProofStep::Kind::kAxiom) {
      const auto [entry, fresh] =
          new_axioms.try_emplace(step.index, static_cast<std::uint32_t>(out.axioms.size()));
      if (fresh) out.axioms.push_back(history_->log().axiom(step.index));
      step.index = entry->second;
    }
    new_steps[id.index()] = StepId(out.steps.size());
    out.steps.push_back(std::move(step));
  }
  return out;
}

Result<Explanation> explain(const EGraph& egraph, ClassId a, ClassId b,
                            const ExplainOptions& options) {
  return Explainer(egraph).explain(a, b, options);
}

}  // namespace egret::egraph
