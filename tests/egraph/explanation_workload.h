// SPDX-License-Identifier: Apache-2.0
// A workload run with proofs, and a checker that trusts its rules, conditions and analysis.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "egraph/workloads/workload.h"
#include "tests/egraph/certificate_checker.h"

namespace egret::egraph {

class ExplanationWorkload {
 public:
  // By its name (egraph/workloads/workload.h), run to its end.
  static std::unique_ptr<ExplanationWorkload> open(std::string_view name);

  EGraph& egraph() { return session_->egraph(); }
  const checking::CertificateChecker& checker() const { return checker_; }

 private:
  std::unique_ptr<workloads::Session> session_;
  checking::CertificateChecker checker_;
};

// What the conditions of the mathematics and its constant folding mean, on terms.
void define_arithmetic(checking::CertificateChecker& checker);
// The same for the lambda calculus, with the rule whose right side is computed, and for
// propositional logic, where the formula that a workload states is given.
void define_lambda(checking::CertificateChecker& checker);
void define_truth_tables(checking::CertificateChecker& checker);

// Terms that are known to be equal, by any of their ids.
class EqualPairs {
 public:
  explicit EqualPairs(const EGraph& egraph);
  std::pair<ClassId, ClassId> draw(base::Random& random) const;

 private:
  std::vector<ClassId> ids_;                  // in classes of at least two
  std::vector<std::vector<ClassId>> groups_;  // by class
  std::vector<std::size_t> group_of_;         // by index into ids_
};

// checking::Terms::hash() of the term of each id, read off the log alone.
std::vector<std::string> term_hashes(const EGraph& egraph);

}  // namespace egret::egraph
