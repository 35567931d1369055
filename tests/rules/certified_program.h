// SPDX-License-Identifier: Apache-2.0
// For tests: a program that rules made smaller, with the certificate of that.
#pragma once

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "rules/certificates/certificate_writer.h"
#include "rules/replay/rule_library.h"
#include "rules/tensors/admitted_rules.h"
#include "rules/tensors/constant_folding.h"
#include "rules/tensors/saturated_graph.h"
#include "tests/rules/smallest_selection.h"
#include "verifier/replay/replay.h"

namespace egret::rules {

struct CertifiedProgram {
  ir::Graph before;
  ir::Graph after;
  verifier::Certificate certificate;
  RuleLibrary library;

  base::Result<verifier::ReplayReport> replay(const verifier::Certificate& given) const {
    return verifier::replay(given, before, after, library);
  }
};

// The smallest equal program, its constants folded.
inline CertifiedProgram certified(ir::Graph before, std::string_view selection = "starter") {
  CertifiedProgram made;
  made.before = std::move(before);
  const auto rules = AdmittedRules::select(selection);
  EXPECT_TRUE(rules.ok()) << rules.status().message();
  SaturateOptions options;
  options.limits.nodes = 5000;
  options.limits.iterations = 8;
  const MakeRules record_proofs = [](TensorEGraph& tensors) {
    tensors.egraph().enable_proofs();
    return std::vector<CompiledRule>();
  };
  auto saturated = saturate(made.before, *rules, options, 1, record_proofs);
  EXPECT_TRUE(saturated.ok()) << saturated.status().message();
  const auto extracted = saturated->tensors->to_graph(fewest_operators(*saturated->tensors));
  EXPECT_TRUE(extracted.ok()) << extracted.status().message();
  auto folded = fold_constants(*extracted);
  EXPECT_TRUE(folded.ok()) << folded.status().message();
  made.after = *std::move(folded);
  auto certificate =
      write_certificate({.before = &made.before, .extracted = &*extracted, .after = &made.after},
                        saturated->tensors.get(), *rules);
  EXPECT_TRUE(certificate.ok()) << certificate.status().message();
  if (certificate.ok()) made.certificate = *std::move(certificate);
  const auto proofs = read_proofs(rules->statuses().to_json());
  EXPECT_TRUE(proofs.ok());
  made.library.add(rules->set().rules, *proofs);
  return made;
}

}  // namespace egret::rules
