// SPDX-License-Identifier: Apache-2.0
#include "egraph/proofs/explanation_certificate.h"

#include <utility>

namespace egret::egraph {

using base::Json;
using base::Result;

namespace {

template <typename Id>
Json numbers(std::span<const Id> ids) {
  Json list = Json::array();
  for (const Id id : ids) list.push(id.index());
  return list;
}

Json positions(const std::vector<std::uint32_t>& position) {
  Json list = Json::array();
  for (const std::uint32_t child : position) list.push(child);
  return list;
}

// The tables that both forms share. They collect operators, terms and rules in order of first use.
class Tables {
 public:
  explicit Tables(const Explanation& proof) : proof_(proof) {}

  std::uint32_t op(OpId op) {
    const auto [entry, fresh] =
        index_.try_emplace(op.index(), static_cast<std::uint32_t>(ops_.size()));
    if (fresh) ops_.push_back(op);
    return entry->second;
  }

  // Must be called last: `terms` may refer to operators for the first time.
  Json document(const char* format, const TermTable& terms) {
    Json list = Json::array();
    for (std::size_t t = 0; t < terms.size(); ++t) {
      Json term = Json::array();
      term.push(op(terms.op(TermId(t))));
      for (const TermId child : terms.children(TermId(t))) term.push(child.index());
      list.push(std::move(term));
    }
    Json operators = Json::array();
    for (const OpId known : ops_) operators.push(proof_.ops->text(known));
    Json rules = Json::array();
    for (const auto& rule : proof_.rules) {
      Json entry = Json::object();
      entry.set("name", rule->name());
      entry.set("text", rule->text(*proof_.ops));
      entry.set("hash", rule->hash(*proof_.ops));
      rules.push(std::move(entry));
    }
    Json axioms = Json::array();
    for (const std::string& axiom : proof_.axioms) axioms.push(axiom);
    Json made = base::versioned_json();
    made.set("format", format);
    made.set("operators", std::move(operators));
    made.set("terms", std::move(list));
    made.set("rules", std::move(rules));
    made.set("axioms", std::move(axioms));
    return made;
  }

  // Writes the rule, equation, substitution and operators of a rule's step.
  void add_instance(const ProofStep& step, Json& out) {
    const RuleForm& rule = *proof_.rules[step.index];
    out.set("rule", step.index);
    out.set("equation", step.equation);
    Json substitution = Json::object();
    for (std::size_t i = 0; i < step.substitution.size(); ++i)
      substitution.set(rule.name(rule.substituted()[i]), step.substitution[i].index());
    out.set("substitution", std::move(substitution));
    Json operators = Json::object();
    for (std::size_t i = 0; i < step.captured_ops.size(); ++i)
      operators.set(rule.op_name(i), op(step.captured_ops[i]));
    out.set("operators", std::move(operators));
  }

 private:
  const Explanation& proof_;
  std::vector<OpId> ops_;
  boost::unordered_flat_map<std::uint32_t, std::uint32_t> index_;
};

Json claim(TermId left, TermId right, const char* what, std::size_t where) {
  Json made = Json::object();
  made.set("left", left.index());
  made.set("right", right.index());
  made.set(what, static_cast<std::uint64_t>(where));
  return made;
}

const char* kind_name(ProofStep::Kind kind) {
  switch (kind) {
    case ProofStep::Kind::kReflexivity: return "refl";
    case ProofStep::Kind::kSymmetry: return "sym";
    case ProofStep::Kind::kTransitivity: return "trans";
    case ProofStep::Kind::kCongruence: return "congruence";
    case ProofStep::Kind::kRule: return "rule";
    case ProofStep::Kind::kAxiom: return "axiom";
  }
  return "";
}

// Writes the flat proof of the goal, after the flat proofs of all premises that it needs.
// Depth-first, with an explicit stack.
class FlatWriter {
 public:
  FlatWriter(const Explanation& proof, std::size_t max_steps)
      : proof_(proof), tables_(proof), left_(max_steps) {}

  Result<Json> run() {
    const StepId goal(proof_.steps.size() - 1);
    std::vector<StepId> stack{goal};
    while (!stack.empty()) {
      const StepId top = stack.back();
      if (proof_of_.contains(top.index())) {
        stack.pop_back();
        continue;
      }
      if (!flats_.contains(top.index())) {
        // All flat proofs together have one limit of rewrites.
        EGRET_ASSIGN_OR_RETURN(FlatExplanation flat, proof_.flat(top, std::move(terms_), left_));
        left_ -= flat.steps.size();
        terms_ = std::move(flat.terms);
        flats_.emplace(top.index(), std::move(flat.steps));
      }
      const std::size_t open = stack.size();
      for (const FlatStep& rewrite : flats_[top.index()]) {
        for (const StepId premise : proof_.steps[rewrite.step.index()].premises) {
          if (!proof_of_.contains(premise.index())) stack.push_back(premise);
        }
      }
      if (stack.size() > open) continue;
      write(top);
      stack.pop_back();
    }
    Json document = tables_.document("egret-equality-flat", terms_);
    document.set("proofs", std::move(proofs_));
    document.set("claim", claim(proof_.conclusion().left, proof_.conclusion().right, "proof",
                                proof_of_[goal.index()]));
    return document;
  }

 private:
  void write(StepId id) {
    const ProofStep& whole = proof_.steps[id.index()];
    Json list = Json::array();
    for (const FlatStep& rewrite : flats_[id.index()]) list.push(step(rewrite));
    // A flat proof is needed only until it is written. Keeping all of them would hold the whole
    // document a second time.
    flats_.erase(id.index());
    Json made = Json::object();
    made.set("left", whole.left.index());
    made.set("right", whole.right.index());
    made.set("steps", std::move(list));
    proof_of_.emplace(id.index(), static_cast<std::uint32_t>(proof_of_.size()));
    proofs_.push(std::move(made));
  }

  Json step(const FlatStep& rewrite) {
    const ProofStep& given = proof_.steps[rewrite.step.index()];
    Json made = Json::object();
    made.set("kind", kind_name(given.kind));
    if (given.kind == ProofStep::Kind::kRule) {
      tables_.add_instance(given, made);
      // Premises of the rule and evidence (what its conditions cited) refer to proofs that are
      // written before.
      Json premises = Json::array();
      Json evidence = Json::array();
      for (std::size_t i = 0; i < given.premises.size(); ++i) {
        (i < given.rule_premises ? premises : evidence)
            .push(proof_of_.find(given.premises[i].index())->second);
      }
      made.set("premises", std::move(premises));
      made.set("evidence", std::move(evidence));
    } else {
      made.set("axiom", given.index);
      made.set("left", given.left.index());
      made.set("right", given.right.index());
    }
    made.set("direction", rewrite.forward ? "forward" : "backward");
    made.set("position", positions(rewrite.position));
    made.set("term", rewrite.term.index());
    return made;
  }

  const Explanation& proof_;
  Tables tables_;
  TermTable terms_ = proof_.terms;
  std::size_t left_;
  boost::unordered_flat_map<std::uint32_t, std::vector<FlatStep>> flats_;  // by step, not written
  boost::unordered_flat_map<std::uint32_t, std::uint32_t> proof_of_;       // by step
  Json proofs_ = Json::array();
};

}  // namespace

Json tree_certificate(const Explanation& proof) {
  Tables tables(proof);
  Json steps = Json::array();
  for (const ProofStep& step : proof.steps) {
    Json made = Json::object();
    made.set("kind", kind_name(step.kind));
    made.set("left", step.left.index());
    made.set("right", step.right.index());
    const auto premises = std::span<const StepId>(step.premises);
    switch (step.kind) {
      case ProofStep::Kind::kReflexivity: break;
      case ProofStep::Kind::kSymmetry:
      case ProofStep::Kind::kTransitivity:
      case ProofStep::Kind::kCongruence: made.set("premises", numbers(premises)); break;
      case ProofStep::Kind::kRule:
        tables.add_instance(step, made);
        made.set("premises", numbers(premises.first(step.rule_premises)));
        made.set("evidence", numbers(premises.subspan(step.rule_premises)));
        break;
      case ProofStep::Kind::kAxiom: made.set("axiom", step.index); break;
    }
    steps.push(std::move(made));
  }
  Json document = tables.document("egret-equality-tree", proof.terms);
  document.set("steps", std::move(steps));
  document.set("claim", claim(proof.conclusion().left, proof.conclusion().right, "step",
                              proof.steps.size() - 1));
  return document;
}

Result<Json> flat_certificate(const Explanation& proof, std::size_t max_steps) {
  return FlatWriter(proof, max_steps).run();
}

}  // namespace egret::egraph
