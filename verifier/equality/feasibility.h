// SPDX-License-Identifier: Apache-2.0
// Decides whether numbers satisfy guards over sizes and attributes, and finds some.
//
// Two methods complement each other. The index solver (verifier/index/index_solver.h) shows that
// there are none, with its facts about products and quotients. Z3's nonlinear integers find
// numbers: first small ones, among which the answer is quick, then any. Numbers are evaluated
// before they are believed, and "none" rests on the answer "unsatisfiable".
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "ir/core/denotation.h"
#include "ir/core/symbol_values.h"
#include "verifier/index/index_solver.h"
#include "verifier/index/polynomial.h"
#include "verifier/solver/solver_session.h"

namespace egret::verifier {

class Feasibility {
 public:
  struct Options {
    unsigned rlimit = 500'000;  // of Z3, a query
  };
  explicit Feasibility(SolverSession& session) : Feasibility(session, Options()) {}
  Feasibility(SolverSession& session, Options options) : session_(session), options_(options) {}

  enum class Outcome : std::uint8_t { kNumbers, kNone, kUnknown };
  struct Result {
    Outcome outcome = Outcome::kUnknown;
    ir::SymbolValues numbers{};
  };
  // `least` names all symbols of the guards, with the smallest value of each. Numbers are looked
  // for first near those given.
  Result find(std::span<const ir::Guard> guards, const ir::SymbolValues& least,
              const ir::SymbolValues& near);
  // Whether no numbers satisfy the guards. False also means "not known".
  bool excludes(std::span<const ir::Guard> guards, const ir::SymbolValues& least,
                const ir::SymbolValues& near);
  // How often Z3 was asked about products, which takes some 10 to 50 ms each time.
  std::size_t asked() const { return asked_; }

 private:
  std::optional<Result> by_facts(std::span<const ir::Guard> guards, const ir::SymbolValues& least,
                                 const ir::SymbolValues& near);
  Result ask(std::span<const ir::Guard> guards, const ir::SymbolValues& least, std::int64_t range);

  SolverSession& session_;
  Options options_;
  AtomTable atoms_;
  std::size_t asked_ = 0;
};

}  // namespace egret::verifier
