// SPDX-License-Identifier: Apache-2.0
// What is to be proven: two graphs over the same inputs have equal outputs, for all sizes and
// integer attributes that satisfy the conditions.
//
// Meaning: exact real arithmetic, for inputs of finite numbers, wherever the left side is defined.
// Integer tensors count as tensors of unbounded integers.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "ir/graph/graph.h"
#include "verifier/algebra/real_term.h"

namespace egret::verifier {

class SolverSession;

struct Proof {
  bool proven = false;
  std::string reason;              // why not
  std::vector<std::string> lines;  // what was done, for people
};

struct ProofOptions {
  unsigned rlimit = 1'000'000;  // of the solver, a query
  int cases = 64;               // most case distinctions
  // What symbols are in one case that satisfies the conditions: makes proofs faster.
  std::map<std::string, std::int64_t, std::less<>> example{};
  // Asks, remembers and counts; without one the proof has its own.
  SolverSession* session = nullptr;
};

// Two graphs whose types and attributes may be symbolic: over the symbols of the current
// ir::SymbolicScope, if there is one.
class Obligation {
 public:
  // `splats` are inputs, by name, whose elements are all one number. `reals` are numbers that stand
  // for others: wherever a constant is such a number or its negative, the other is meant. Graphs
  // have as many outputs, of the same types by the conditions. Call while the scope is alive; the
  // result does not need it. Errors: what operators report of the graphs.
  static base::Result<Obligation> of(const ir::Graph& left, const ir::Graph& right,
                                     const std::map<std::string, double>& splats = {},
                                     const RealNumbers& reals = {});
  ~Obligation();
  Obligation(Obligation&&) noexcept;
  Obligation& operator=(Obligation&&) noexcept;

  // What the definitions of both sides require of sizes and attributes.
  std::span<const ir::Guard> requirements() const;

  // Proves equality under the conditions, which should imply the requirements.
  Proof prove(std::span<const ir::Guard> conditions, const ProofOptions& options = {});
  // Proves no more than that the right side is defined wherever the left one is.
  Proof prove_defined(std::span<const ir::Guard> conditions, const ProofOptions& options = {});
  // Whether the conditions imply each of the others; false also means "not known".
  bool implies(std::span<const ir::Guard> conditions, std::span<const ir::Guard> others,
               const ProofOptions& options = {});
  // Of graphs whose sizes and attributes are numbers: proves equality of each element by itself,
  // with reductions written out. Ends the obligation: it proves nothing else afterwards.
  Proof prove_each_element(const ProofOptions& options = {});

 private:
  struct Impl;
  explicit Obligation(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace egret::verifier
