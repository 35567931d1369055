// SPDX-License-Identifier: Apache-2.0
// Covers the kinds of a rule's instances: explores all paths of each kind (rules/proving/cover.h)
// and proves the families that are new on them. Random instances rarely hit cases that need large
// or several specific numbers.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "rules/proving/cover.h"
#include "rules/proving/family_proofs.h"

namespace egret::rules {

class KindCover {
 public:
  // All outlive the object.
  KindCover(const Rule& rule, const VerifyOptions& options, Instantiator& instantiator,
            const Refutation& refutation, FamilyProofs& families, verifier::SolverSession& session);

  // The kinds of these instances, but for those explored before. Returns why this ends early. A
  // kind of a higher rank than `drawn_rank` stays open if one of its families cannot be proven.
  std::optional<Ending> explore(std::span<const Choice> instances, int drawn_rank);

  // What was explored, and what stays open.
  const Covered& covered() const { return notes_.covered(); }
  bool first_axes_are_batch() const { return notes_.first_axes_are_batch(); }
  const std::vector<ProofTrace::Kind>& trace() const { return trace_; }

 private:
  std::optional<Ending> explore_kind(std::span<const Choice* const> choices);
  std::optional<Ending> follow(Cover& paths, std::span<const Choice* const> known,
                               std::string& open);
  std::optional<Ending> prove_path_of(const Choice& choice, std::string& open);
  std::optional<Ending> prove_empty(const Instance& instance, std::string& open);

  const Rule& rule_;
  const VerifyOptions& options_;
  Instantiator& instantiator_;
  const Refutation& refutation_;
  FamilyProofs& families_;
  verifier::SolverSession& session_;
  base::Random random_;
  int drawn_rank_ = 0;
  KindNotes notes_;
  std::vector<ProofTrace::Kind> trace_;
  std::set<std::string> explored_;  // kinds
  std::size_t questions_ = 0;       // to Z3
  int proven_ = 0;                  // families, of paths that no random instance took
  int empty_ = 0;                   // further ones, of instances without elements
};

}  // namespace egret::rules
