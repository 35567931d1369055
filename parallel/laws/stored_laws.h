// SPDX-License-Identifier: Apache-2.0
// The placement laws of every operator as they are stored, each with what it is proven for.
//
// A line of parallel/data/placement.laws is a law of an application:
//
//     proven-for-all-sizes  matmul(f32[4,2], f32[2,6]) : S(0), R -> S(0)
//
// Proofs are of what operators mean: the line `definitions HASH` names that meaning as it was when
// they were made (rules/tensors/rule_status.h). Planning derives laws for the sizes in question and
// does not need this list; it is there to be read, and so that no change of an operator or of the
// derivation changes laws unseen.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "parallel/laws/law_proof.h"
#include "parallel/laws/laws.h"
#include "parallel/laws/some_application.h"

namespace egret::parallel {

struct StoredLaw {
  std::string op;
  std::string application;  // "matmul(f32[4,2], f32[2,6])"
  std::string law;          // "S(0), R -> S(0)"
  LawProof::Scope scope = LawProof::Scope::kNone;

  friend bool operator==(const StoredLaw&, const StoredLaw&) = default;
};

std::string_view name_of(LawProof::Scope scope);  // "proven-for-all-sizes"

struct StoredLaws {
  std::string definitions;
  std::vector<StoredLaw> laws;
};

// The text of the laws that come with Egret.
std::string_view builtin_laws();

// Errors: bad_input that names the line.
base::Result<StoredLaws> parse_laws(std::string_view text);
std::string to_text(const StoredLaws& laws);

// Every law of random applications of all operators for two devices, but those of copies: one for
// each operator, placements and ranks. Deterministic.
void for_all_laws(const std::function<void(const Application&, const Law&)>& visit);
StoredLaw stored(const Application& application, const Law& law, LawProof::Scope scope);

}  // namespace egret::parallel
