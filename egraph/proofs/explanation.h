// SPDX-License-Identifier: Apache-2.0
// A proof that two terms are equal, as data. Explainer (egraph/proofs/explainer.h) makes it;
// certificates (egraph/proofs/explanation_certificate.h) are written from it.
//
// The same proof has two forms:
//
//   tree  steps, each an equality that follows from its premises, which come before it and may be
//         shared by any number of steps:
//           reflexivity   t = t
//           symmetry      b = a                 from a = b
//           transitivity  a = z                 from a = b, b = c, ..., y = z
//           congruence    f(a, b) = f(c, d)     from a = c, b = d
//           rule          left = right          an instance of a rule's equation; the premises are
//                                               those of the rule, then what its conditions cited
//           axiom         left = right          said by a caller of EGraph::merge() or an analysis
//   flat  a sequence of whole terms, each rewritten from the one before by one rule or axiom at one
//         position. Shared parts are repeated, so it may be exponentially longer.
//
// Independent of the e-graph, except for the OpTable, which must outlive it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "egraph/core/rule_form.h"
#include "egraph/proofs/term_table.h"

namespace egret::egraph {

using StepId = base::Id<struct StepIdTag>;

struct ProofStep {
  enum class Kind : unsigned char {
    kReflexivity,
    kSymmetry,
    kTransitivity,
    kCongruence,
    kRule,
    kAxiom,
  };
  Kind kind = Kind::kReflexivity;
  TermId left;
  TermId right;
  std::vector<StepId> premises;

  std::uint32_t index = 0;           // kRule: into Explanation::rules; kAxiom: into axioms
  std::uint32_t equation = 0;        // kRule: which of the rule's
  std::uint32_t rule_premises = 0;   // kRule: how many premises are the rule's; others were cited
  std::vector<TermId> substitution;  // kRule: for RuleForm::substituted()
  std::vector<OpId> captured_ops;    // kRule
};

struct FlatStep {
  StepId step;  // a rule or an axiom
  bool forward = true;
  std::vector<std::uint32_t> position;  // child indices from the root
  TermId term;                          // the whole term afterwards
};

struct FlatExplanation {
  TermTable terms;  // those of the explanation with the same ids, and more
  TermId start;
  std::vector<FlatStep> steps;
};

struct Explanation {
  const OpTable* ops = nullptr;
  TermTable terms;
  std::vector<ProofStep> steps;  // premises first; the last one is what was to be shown
  std::vector<std::shared_ptr<const RuleForm>> rules;
  std::vector<std::string> axioms;

  // The number of rewrites in the flat form, without those in premises; saturates at 2^62.
  std::uint64_t flat_length(StepId step) const;
  std::uint64_t flat_length() const { return flat_length(StepId(steps.size() - 1)); }

  const ProofStep& conclusion() const { return steps.back(); }
  // The number of rule and axiom steps in the tree, each counted once.
  std::size_t rewrites() const;

  // The flat form. Fails if it has more than `max_steps` rewrites.
  base::Result<FlatExplanation> flat(std::size_t max_steps = 100'000) const;
  // The same for any step, with a term table that begins with this explanation's terms.
  base::Result<FlatExplanation> flat(StepId step, TermTable terms, std::size_t max_steps) const;

  // Human-readable text. flat_text() falls back to the tree if the flat form has more than
  // `max_steps` rewrites.
  std::string flat_text(std::size_t max_steps = 200) const;
  std::string tree_text() const;
};

}  // namespace egret::egraph
