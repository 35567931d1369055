// SPDX-License-Identifier: Apache-2.0
// Programs that answer queries. Each reads the same tree in its own way, in a file of its own,
// which alone sees that solver's headers.
//
// Bounded by a solver's own work units, never by time: answers repeat. Of its answers a proof uses
// "unsatisfiable" alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "verifier/solver/query.h"

namespace egret::verifier {

enum class Answer : std::uint8_t { kUnsatisfiable, kSatisfiable, kUnknown };

class Solver {
 public:
  virtual ~Solver() = default;
  virtual std::string_view name() const = 0;
  // Unknown when more than `limit` work units were needed, or the solver failed.
  virtual Answer ask(const Query& query, unsigned limit) = 0;
  // Work units of the last question.
  virtual std::uint64_t work() const = 0;
};

std::unique_ptr<Solver> make_z3();
// nullptr when Egret was built without cvc5.
std::unique_ptr<Solver> make_cvc5();

}  // namespace egret::verifier
