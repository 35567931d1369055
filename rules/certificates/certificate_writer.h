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

#include <functional>
#include <map>
#include <string>
#include <vector>

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
  // `before` with constants folded, if the e-graph was made from that.
  const ir::Graph* folded = nullptr;
};

// Rules that a program made, by name, with the hash by which a replay knows them. The left side of
// each is one operator, whose operands are the rule's variables.
using ConstructedRules = std::map<std::string, std::string, std::less<>>;

// `tensors`: the saturated e-graph of `before`, with proofs; needed only with `extracted`. Errors:
// unsupported, naming the step, for one that cannot be certified, and for a tensor constant of a
// step that neither program has; mismatch where the written program is another one.
base::Result<verifier::Certificate> write_certificate(const CertifiedPrograms& programs,
                                                      TensorEGraph* tensors,
                                                      const AdmittedRules& rules,
                                                      const ConstructedRules& constructed = {});

// Adds a graph's terms to an e-graph, and rebuilds it. The ids, by node, name exactly these terms.
base::Result<std::vector<egraph::ClassId>> add_terms(const ir::Graph& graph, TensorEGraph& tensors);

}  // namespace egret::rules
