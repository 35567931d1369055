// SPDX-License-Identifier: Apache-2.0
// A proof obligation: two graphs over the same inputs have equal outputs, for all sizes and integer
// attributes that satisfy the conditions.
//
// Semantics: exact real arithmetic, for finite inputs, wherever the left side is defined. Integer
// tensors hold unbounded integers.
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

class ElementValues;
class SolverSession;

struct Proof {
  bool proven = false;
  std::string reason;              // why not
  std::vector<std::string> lines;  // what was done, for people
};

struct ProofOptions {
  unsigned rlimit = 1'000'000;  // of the solver, a query
  int cases = 64;               // most case distinctions
  // The values of symbols in one case that satisfies the conditions; it speeds up proofs.
  std::map<std::string, std::int64_t, std::less<>> example{};
  // Answers, caches and counts the solver queries. Needed.
  SolverSession* session = nullptr;
};

// Two graphs whose types and attributes may be symbolic, over the symbols of the current
// ir::SymbolicScope, if there is one.
class Obligation {
 public:
  // `splats` are inputs, by name, all of whose elements are one number. `reals` maps stand-ins to
  // unknown numbers: a constant equal to a stand-in or its negative means that number. Both graphs
  // must have the same number of outputs, of equal types under the conditions. Call it while the
  // scope is alive; the result does not need the scope. Errors: those that operators report about
  // the graphs.
  static base::Result<Obligation> of(const ir::Graph& left, const ir::Graph& right,
                                     const std::map<std::string, double>& splats = {},
                                     const RealNumbers& reals = {});
  ~Obligation();
  Obligation(Obligation&&) noexcept;
  Obligation& operator=(Obligation&&) noexcept;

  // The requirements of both sides' definitions on sizes and attributes.
  std::span<const ir::Guard> requirements() const;

  // The left (0) or the right side (1), and the shapes of the outputs.
  const ElementValues& side(std::size_t number) const;
  std::span<const ir::Dims> shapes() const;
  // What the rule says about unknown reals.
  std::span<const RealFact> real_facts() const;

  // Proves equality under the conditions, which should imply the requirements.
  Proof prove(std::span<const ir::Guard> conditions, const ProofOptions& options);
  // Proves only that the right side is defined wherever the left side is.
  Proof prove_defined(std::span<const ir::Guard> conditions, const ProofOptions& options);
  // Proves that under the conditions, whenever the output has elements, some inputs make the two
  // sides differ. The inputs have a closed form (verifier/equality/closed_inputs.h). For graphs
  // with one output.
  Proof prove_different(std::span<const ir::Guard> conditions, const ProofOptions& options);
  // Whether the conditions imply each of the others. False also means "not known".
  bool implies(std::span<const ir::Guard> conditions, std::span<const ir::Guard> others,
               const ProofOptions& options);
  // For graphs with numeric sizes and attributes: proves the equality of each element separately,
  // with expanded reductions. The obligation cannot be used afterwards.
  Proof prove_each_element(const ProofOptions& options);

 private:
  struct Impl;
  explicit Obligation(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace egret::verifier
