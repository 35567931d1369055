// SPDX-License-Identifier: Apache-2.0
// Decides whether a comparison of sizes holds for all values of the symbols in their ranges.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/core/denotation.h"
#include "ir/core/expression_extent.h"
#include "ir/core/symbol_values.h"
#include "verifier/index/size_range.h"
#include "verifier/solver/solver_session.h"

namespace egret::verifier {

class SizeProver {
 public:
  // Ranges by symbol; other symbols have the default range.
  explicit SizeProver(SizeRanges ranges = {}) : ranges_(std::move(ranges)) {}

  // From here on the guard is taken to hold: it is a requirement that the program itself has. One
  // that is too long is left out, and less can be proven.
  void assume(ir::Guard guard);

  // true: it holds for all values; false: it holds for none; nullopt: it depends on them, or is not
  // decided within a fixed amount of solver work. Deterministic. Answers are remembered until the
  // next assumption. First, values that satisfy the assumptions are tried: a guard that differs
  // between two of them needs no solver. Expressions that are too long
  // (ir/core/expression_extent.h) are not decided.
  std::optional<bool> holds(ir::Guard guard);

  // Values of the symbols that satisfy all assumptions: those wanted, as many of them as the solver
  // finds possible one after the other in the order of `order`, and numbers of its choice for the
  // rest. nullopt: none were found. At most a query for each symbol.
  std::optional<ir::SymbolValues> values_near(const ir::SymbolValues& given,
                                              const std::vector<std::string>& order);

  const std::vector<ir::Guard>& assumptions() const { return assumptions_; }

 private:
  // Values of the symbols that satisfy all assumptions.
  std::vector<ir::SymbolValues> samples(ir::Guard guard) const;
  bool is_contradictory(ir::Guard guard);
  bool meets(const ir::SymbolValues& values) const;
  ir::SymbolValues propagated(ir::SymbolValues values, const std::vector<std::string>& order) const;

  SizeRanges ranges_;
  std::vector<ir::Guard> assumptions_;
  std::map<const ir::ExprNode*, std::optional<bool>> known_;
  SolverSession session_;
  ir::ExpressionMeter meter_;
};

}  // namespace egret::verifier
