// SPDX-License-Identifier: Apache-2.0
// Options and answers of verbs that prove the equality of two programs.
#pragma once

#include <cstdint>
#include <string>

#include "base/formats/json.h"
#include "base/options/option_table.h"
#include "driver/proofs/equality_proof.h"
#include "tools/console/console.h"
#include "tools/console/exit_code.h"

namespace egret::tools {

struct ProofArguments {
  std::string rules = "default";
  std::string allow = "proven";
  std::int64_t seed = 1;
  double pair_time = 2;
  double proof_time = 120;

  static const base::OptionTable<ProofArguments>& table();
  base::Result<driver::EqualityProof> prove(const ir::Graph& a, const ir::Graph& b,
                                            Console& console) const;
};

// The members of a JSON result.
void add_proof(base::Json& json, const driver::EqualityProof& proof);
// "proven", with how much of B follows how. `a` and `b` are what the two are called.
std::string to_text(const driver::EqualityProof& proof, const std::string& a, const std::string& b);
// 0 if all outputs are proven, 6 if one differs, 5 if one is undecided.
ExitCode exit_code_of(const driver::EqualityProof& proof);

}  // namespace egret::tools
