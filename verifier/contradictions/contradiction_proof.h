// SPDX-License-Identifier: Apache-2.0
// Proofs that the assertions of a query contradict each other, which are checked without a solver.
//
// A proof is a tree. Each inner node distinguishes cases: a formula of the query is true or false,
// an equation that does not hold is > or <, a whole number is at most k or at least k + 1. In each
// case the consequences by propositional logic are drawn (QueryCase). A leaf is a case in which a
// formula is both true and false, or in which facts add up to a contradiction: each is p >= 0,
// p > 0 or p = 0, products of facts are facts, and the sum of facts times positive factors is a
// number below 0 (or 0, if one of them is > 0). Farkas' lemma says that sums suffice for linear
// arithmetic; products are a part of the Positivstellensatz (Stengle 1974).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/formats/json.h"
#include "verifier/contradictions/query_atoms.h"

namespace egret::verifier {

struct ContradictionProof {
  // factor * facts * unknowns. A fact is named by the node of a comparison, or by -1 - number of
  // the facts that the cases on the way assume. If an equation is among them, factor and unknowns
  // are free; otherwise the factor is positive and each unknown has an even power.
  struct Summand {
    ExactRational factor = 1;
    std::vector<std::int64_t> facts{};
    QueryProduct unknowns{};
  };
  enum class Kind : std::uint8_t {
    kConflict,  // a formula is both true and false
    kSum,       // summands
    kTruth,     // node: true, false
    kApart,     // node: an equation that does not hold: right > left, right < left
    kBound,     // value <= bound, value >= bound + 1, over the integers
  };
  struct Step {
    Kind kind = Kind::kConflict;
    std::uint32_t node = 0;
    std::vector<Summand> sum{};
    QueryPolynomial value{};
    std::int64_t bound = 0;
    std::size_t first = 0, second = 0;  // steps of the two cases, both before this one
  };
  std::vector<std::uint32_t> assertions;  // that it uses, by their places in the query
  std::vector<Step> steps;                // the last is the root
};

inline constexpr std::size_t kMostCasesDeep = 100;

// Whether the proof shows that the case is contradictory; `step` is its root.
bool is_contradictory(QueryCase one, const ContradictionProof& proof, std::size_t step);
// Whether the proof shows that the query's assertions contradict each other.
bool is_contradictory(const Query& query, const ContradictionProof& proof);

base::Json json_of(const ContradictionProof& proof);
// Errors: bad_input.
base::Result<ContradictionProof> parse_contradiction_proof(const base::Json& json);

}  // namespace egret::verifier
