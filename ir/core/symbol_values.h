// SPDX-License-Identifier: Apache-2.0
// Evaluation of index expressions and guards over symbols with known values.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/core/denotation.h"

namespace egret::ir {

using SymbolValues = std::map<std::string, std::int64_t, std::less<>>;  // by name

// The value of an expression that has no variables and no reads. Nullopt where a symbol has no
// value, a number leaves 64 bits, or a divisor is not positive.
std::optional<std::int64_t> evaluate(Index value, const SymbolValues& symbols);
std::optional<bool> evaluate(Guard guard, const SymbolValues& symbols);

// Guards compiled for repeated evaluation: shared subexpressions are computed once. The program
// keeps no reference to the guards' pool.
class GuardProgram {
 public:
  explicit GuardProgram(std::span<const Guard> guards);

  // Whether evaluate() gives true for all guards.
  bool holds(const SymbolValues& symbols) const;

  // symbols() lists the guards' symbols. hold_for() takes one number for each, in that order, and
  // returns whether all guards are true. `work` is a scratch buffer that repeated callers reuse.
  const std::vector<std::string>& symbols() const { return names_; }
  bool hold_for(std::span<const std::int64_t> numbers, std::vector<std::int64_t>& work) const;

 private:
  struct Step {
    ExprOp op;
    std::size_t a = 0, b = 0;  // operand steps; kSymbol: `a` is its position in names_
    std::int64_t integer = 0;  // of a constant
    bool is_guard = false;     // one of the given guards: must be true
  };

  std::size_t add(const ExprNode& node, std::map<const ExprNode*, std::size_t>& known);

  std::vector<Step> steps_;  // operands first
  std::vector<std::string> names_;
};

}  // namespace egret::ir
