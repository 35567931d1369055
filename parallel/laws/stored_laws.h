// SPDX-License-Identifier: Apache-2.0
// The stored placement laws of every operator, each with the scope of its proof.
//
// A line of parallel/data/placement.laws is a law of an application:
//
//     proven-for-all-sizes  matmul(f32[4,2], f32[2,6]) : S(0), R -> S(0)
//
// Proofs depend on the operators' meanings: the line `definitions HASH` identifies the meanings
// that they were made for (rules/tensors/rule_status.h). Planning derives laws for the actual sizes
// and does not use this list. It serves readers, and it makes every change of laws visible when
// operators or the derivation change.
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

// The text of Egret's built-in laws.
std::string_view builtin_laws();

// Errors: bad_input that names the line.
base::Result<StoredLaws> parse_laws(std::string_view text);
std::string to_text(const StoredLaws& laws);

// Every law of random applications of all operators for two devices, except copies: one for each
// operator, placements and ranks. Deterministic.
void for_all_laws(const std::function<void(const Application&, const Law&)>& visit);
StoredLaw stored(const Application& application, const Law& law, LawProof::Scope scope);

}  // namespace egret::parallel
