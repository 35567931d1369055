// SPDX-License-Identifier: Apache-2.0
// Writes the certificate of an optimized program from the explanations of its saturated e-graph.
//
// The proof of an output has two parts. The e-graph explains why the program's output equals that
// of the extracted graph. The rest compares the extracted graph with the one that is read back from
// the written file, term by term: constants that were folded, and composite operators that are
// written as their bodies, become steps.
//
// Every step is one that verifier/replay checks. What has no such step is an error.
#pragma once

#include "base/status.h"
#include "egraph/proofs/explainer.h"
#include "ir/graph/graph.h"
#include "rules/tensors/admitted_rules.h"
#include "rules/tensors/tensor_egraph.h"
#include "verifier/replay/certificate.h"

namespace egret::rules {

struct CertifiedPrograms {
  const ir::Graph* before = nullptr;     // as it was read
  const ir::Graph* extracted = nullptr;  // an equal program of the e-graph; null: `before` itself
  const ir::Graph* after = nullptr;      // as it is read from the written file
};

// `tensors`: the saturated e-graph of `before`, with proofs; needed only with `extracted`. Errors:
// unsupported, naming the step, for one that cannot be certified, and for a tensor constant of a
// step that neither program has; mismatch where the written program is another one.
base::Result<verifier::Certificate> write_certificate(const CertifiedPrograms& programs,
                                                      TensorEGraph* tensors,
                                                      const AdmittedRules& rules);

}  // namespace egret::rules
