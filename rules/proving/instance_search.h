// SPDX-License-Identifier: Apache-2.0
// Instances of rules whose conditions ask for large, divisible or coupled numbers, by solving.
//
// Random draws give sources without regard to the conditions on sizes and attributes. Their kind
// (ranks, element types, texts, list lengths, signs) is kept, and the numbers are left open. Cover
// (rules/proving/cover.h) then explores the decisions of the rule: an instance is a path on which
// every condition holds and the types fit. Further instances of a path come from changed numbers
// that local search repairs.
//
// If every path of every kind ends without an instance, none exists for these kinds. Conditions
// that exclude each other are found by deletion: one is left out if there is still no instance
// without it (a minimal unsatisfiable subset; Bakker et al., IJCAI 1993). Conditions on ranks,
// element types or one real number are decided by enumeration.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "rules/proving/cover.h"
#include "rules/testing/instance_source.h"
#include "verifier/solver/solver_session.h"

namespace egret::rules {

class InstanceSearch : public InstanceSource {
 public:
  // The instantiator must outlive the search; so must the session, if there is one.
  InstanceSearch(Instantiator& instantiator, base::Random random,
                 verifier::SolverSession* session = nullptr);

  // Each instance differs from all before. Their tensors have limited elements, alone and together.
  std::optional<Instance> next() override;
  None none() override;

 private:
  std::optional<Instance> next_path();
  std::optional<Instance> next_member();
  std::optional<Instance> accept(const Choice& choice);
  None without_kinds(std::vector<Expr> conditions) const;

  const Rule& rule_;
  Instantiator& instantiator_;
  base::Random random_;
  verifier::SolverSession own_;
  verifier::SolverSession& session_;
  bool started_ = false;
  std::vector<Instance> kinds_;  // sources, one of each kind
  std::size_t kind_ = 0;         // the one that is explored
  std::unique_ptr<Cover> paths_;
  int of_kind_ = 0;   // instances found of this kind
  std::string open_;  // why a kind was not explored to its end
  std::vector<Instance> found_;
  std::set<std::string> seen_;
  std::uint64_t changes_ = 0;
  int fruitless_ = 0;          // changes since the last new instance
  std::int64_t elements_ = 0;  // of the instances so far
};

// For tests: a search with a session of its own.
std::unique_ptr<InstanceSource> solved_instances(Instantiator& instantiator, base::Random random);

}  // namespace egret::rules
