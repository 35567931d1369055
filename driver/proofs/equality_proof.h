// SPDX-License-Identifier: Apache-2.0
// Proofs that two given graphs are equal, whoever made the second from the first.
//
// Graphs of the same operators, composites as their bodies, are equal at once. Others run on random
// inputs first. Values of the second graph that equal one of the first
// there are candidates. In topological order, each is proven equal or not: the two terms above the
// pairs that are proven already become one small e-graph, which is saturated from both sides with
// proven rules. Proven pairs cut the graphs, so that no term is large (Kuehlmann and Krohm,
// "Equivalence checking using cuts and heaps", DAC 1997). Equality is that of real numbers, as
// everywhere in the rules: rounding is not part of it, but for constants that were folded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/progress.h"
#include "base/status.h"
#include "ir/graph/graph.h"
#include "rules/tensors/admitted_rules.h"

namespace egret::driver {

struct ProofOptions {
  double pair_seconds = 2;           // of saturation, for each pair
  std::int64_t pair_nodes = 5000;    // e-nodes, for each pair
  std::int64_t pair_operators = 48;  // of both terms of a pair; larger ones stay undecided
  double seconds = 120;              // for all
  std::int64_t threads = 0;
  std::uint64_t seed = 1;
  base::ProgressSink* progress = nullptr;
};

struct EqualityProof {
  enum class Verdict : std::uint8_t {
    kProven,     // for all inputs of these sizes
    kDifferent,  // an output differs on random inputs
    kUndecided,  // outputs agree on random inputs, and one has no proof
  };
  Verdict verdict = Verdict::kUndecided;
  std::int64_t values = 0;  // operators of the second graph
  // Of these, values that are proven equal to one of the first graph: the same operator on equal
  // operands, or by rules.
  std::int64_t same = 0;
  std::int64_t by_rules = 0;
  // Constants that B stores and A computes, equal within 1e-6 of their largest element.
  std::int64_t folded = 0;
  // The first value of the second graph, in topological order, that has no proof, although the
  // outputs need it: its term and the one that it should equal, over proven pairs p0, p1, ... Empty
  // if everything is proven, or if no value of the first graph comes near. Of graphs that differ:
  // the smallest terms that do, over operands that agree.
  std::string open_value;
  std::string term_a;
  std::string term_b;
  std::string output;     // that is not proven
  double difference = 0;  // largest, of outputs on random inputs
  bool out_of_time = false;
  // Inputs of one graph that it does not read and that the other does not have.
  std::vector<std::string> unused_inputs{};
};

// Both have known sizes, and inputs and outputs of the same types, by position. Inputs that only
// one has and does not read do not count. Errors: mismatch
// for other types; unsupported for nodes that Egret cannot compute, or may not look into; those of
// the interpreter and of saturation.
base::Result<EqualityProof> prove_equal(const ir::Graph& a, const ir::Graph& b,
                                        const rules::AdmittedRules& rules,
                                        const ProofOptions& options);

}  // namespace egret::driver
