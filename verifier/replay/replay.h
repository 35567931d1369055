// SPDX-License-Identifier: Apache-2.0
// Checks a certificate step by step, without an e-graph and without a solver.
//
// What an accepted certificate says: each output of the second program equals that of the first, in
// real arithmetic, for the sizes that the certificate names. It rests on the operators'
// definitions, on the proofs of the rules, and on the code that docs/trust.md lists.
#pragma once

#include <cstddef>

#include "base/status.h"
#include "ir/graph/graph.h"
#include "verifier/replay/certificate.h"
#include "verifier/replay/code_steps.h"
#include "verifier/replay/rule_book.h"

namespace egret::verifier {

// The value of a term of constants, rounded once to its type. "f64": computed in f64. "f32": each
// operator's result is rounded, as a run of the program rounds it. Values are kept for both.
class FoldedTerms {
 public:
  explicit FoldedTerms(const ReplayTerms& terms) : terms_(terms) {}
  // Errors: bad_input for another precision, a term that reads an input, and failed evaluations.
  base::Result<ir::Tensor> value(TermRef term, std::string_view precision);

 private:
  const ReplayTerms& terms_;
  boost::unordered_flat_map<std::uint32_t, ir::Tensor> values_[2];  // by precision
};

struct ReplayReport {
  std::size_t steps = 0;
  std::size_t rule_steps = 0;
  std::size_t folds = 0;
  std::size_t code_steps = 0;
  std::size_t terms = 0;
};

// `before` and `after` are the programs as they are read from their files. Errors: mismatch or
// bad_input that names the first step, term or output that is wrong; unsupported for what needs a
// number where a size is open. Open sizes need a ProvenSizes (verifier/index/proven_sizes.h) as the
// current scope. An operator without a definition is a function of its operands of which nothing is
// known. O(certificate), and the evaluation of folds.
base::Result<ReplayReport> replay(const Certificate& certificate, const ir::Graph& before,
                                  const ir::Graph& after, const RuleBook& rules);

}  // namespace egret::verifier
