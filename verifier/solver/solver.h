// SPDX-License-Identifier: Apache-2.0
// Solvers that answer queries. Each translates the same tree in its own file, which alone includes
// that solver's headers.
//
// Queries are bounded by a solver's own work units, never by time, so answers are reproducible.
// Proofs use only the answer "unsatisfiable". Numbers that a solver finds are always checked.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "verifier/solver/query.h"

namespace egret::verifier {

enum class Answer : std::uint8_t { kUnsatisfiable, kSatisfiable, kUnknown };

class Solver {
 public:
  virtual ~Solver() = default;
  virtual std::string_view name() const = 0;
  // Unknown if more than `limit` work units were needed or the solver failed.
  virtual Answer ask(const Query& query, unsigned limit) = 0;
  // After "satisfiable" about integers: numbers for the unknowns, by name. Unknowns that do not
  // matter, and numbers beyond 64 bits, may be missing. Empty if the solver gives none.
  virtual std::map<std::string, std::int64_t, std::less<>> numbers() const { return {}; }
  // The work units of the last query.
  virtual std::uint64_t work() const = 0;
  // One whose answers do not depend on earlier queries. nullptr: this one.
  virtual std::unique_ptr<Solver> fresh() const { return nullptr; }
};

std::unique_ptr<Solver> make_z3();
// Assertions, by their places, that contradict each other by Z3; few, where it finds out. nullopt:
// it does not know of a contradiction within the work units.
std::optional<std::vector<std::uint32_t>> contradictory_core(const Query& query, unsigned limit);
// nullptr if Egret was built without cvc5.
std::unique_ptr<Solver> make_cvc5();

}  // namespace egret::verifier
