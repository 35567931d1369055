// SPDX-License-Identifier: Apache-2.0
// The statement of a proven rule for another prover (verifier/equality/coq_text.h): for each family
// of its proof, that both sides are equal at each element. The families are those of a certificate;
// its proofs are not used.
#pragma once

#include <string>

#include "base/status.h"
#include "rules/proofs/rule_certificate.h"

namespace egret::rules {

struct RuleTheorem {
  std::string rule;
  std::string name;  // of the file, without its ending
  std::string text;
  int families = 0;
  int statements = 0;       // families that differ in element types alone have one
  bool on_scalars = false;  // for elementwise operators: about tensors of rank 0
};
// Errors: bad_input, for a certificate that is malformed or whose families are no instances;
// unsupported, if a family cannot be stated.
base::Result<RuleTheorem> rule_theorem(const RuleCertificate& certificate, KnownOperators& known);

}  // namespace egret::rules
