// SPDX-License-Identifier: Apache-2.0
// Index expressions and guards over symbols, where the values of these are known.
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

// Of expressions without variables that read nothing. Nullopt where a symbol has no value, a
// number leaves 64 bits, or a divisor is not positive.
std::optional<std::int64_t> evaluate(Index value, const SymbolValues& symbols);
std::optional<bool> evaluate(Guard guard, const SymbolValues& symbols);

// Guards made ready to be evaluated together, many times: what they share is computed once. Keeps
// nothing of their pool.
class GuardProgram {
 public:
  explicit GuardProgram(std::span<const Guard> guards);

  // Whether evaluate() gives true for all guards.
  bool holds(const SymbolValues& symbols) const;

  // The symbols they speak of, and whether all guards are true of numbers for these, in their
  // order. `work` is room to compute in, for callers that ask many times.
  const std::vector<std::string>& symbols() const { return names_; }
  bool hold_for(std::span<const std::int64_t> numbers, std::vector<std::int64_t>& work) const;

 private:
  struct Step {
    ExprOp op;
    std::size_t a = 0, b = 0;  // steps; of a symbol: its place among the names
    std::int64_t integer = 0;  // of a constant
    bool is_guard = false;     // one of those given: must be true
  };

  std::size_t add(const ExprNode& node, std::map<const ExprNode*, std::size_t>& known);

  std::vector<Step> steps_;  // operands first
  std::vector<std::string> names_;
};

}  // namespace egret::ir
