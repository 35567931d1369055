// SPDX-License-Identifier: Apache-2.0
#include "ir/nest/loop_nest.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "ir/core/integer_arithmetic.h"
#include "ir/nest/nest_builder.h"

namespace egret::ir {
namespace {

// Each round can reveal new digits; the bound stops definitions that would split without end.
constexpr int kMaxSplitRounds = 8;

// Splits digit = high*divisor + low. False where the divisor does not divide the extent or the
// split would change nothing.
bool split_digit(VariableDigits& digits, const SplitRequest& request) {
  Digit& digit = digits[request.digit];
  if (digit.extent % request.divisor != 0 || digit.extent == request.divisor) return false;
  const Digit low{request.divisor, digit.weight};
  digit = {digit.extent / request.divisor, digit.weight * request.divisor};
  digits.insert(digits.begin() + static_cast<std::ptrdiff_t>(request.digit) + 1, low);
  return true;
}

}  // namespace

base::Result<LoopNest> loop_nest(const TermGraph& graph, std::span<const Shape> inputs,
                                 const Shape& output, const OutputBox& box, Precision precision) {
  // Digits must be fixed before lowering starts, but only lowering shows which divisions occur. The
  // nest is therefore built repeatedly until no division asks for another split.
  std::vector<VariableDigits> digits(static_cast<std::size_t>(graph.var_count));
  for (int round = 0;; ++round) {
    NestBuilder builder(graph, inputs, precision, digits);
    EGRET_RETURN_IF_ERROR(builder.build(output, box));
    bool changed = false;
    if (round < kMaxSplitRounds) {
      std::vector<bool> touched(digits.size(), false);  // digit numbers shift with each split
      for (const SplitRequest& request : builder.splits()) {
        const auto var = static_cast<std::size_t>(request.var);
        if (touched[var]) continue;
        if (split_digit(digits[var], request)) touched[var] = changed = true;
      }
    }
    if (!changed) return builder.take();
  }
}

}  // namespace egret::ir
