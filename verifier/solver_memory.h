// SPDX-License-Identifier: Apache-2.0
// Answers of a solver that several sessions share, one after the other: of one rule under ever
// fewer conditions, proofs ask mostly the same.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "base/hash.h"
#include "verifier/solver.h"

namespace egret::verifier {

struct SolverAnswer {
  Answer answer = Answer::kUnknown;
  std::uint64_t work = 0;  // in the solver's units
};

// By the hash of the query's key, of 128 bits, and the limit.
using SolverMemory = std::map<std::pair<base::ContentHash, unsigned>, SolverAnswer>;

}  // namespace egret::verifier
