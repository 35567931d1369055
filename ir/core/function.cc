// SPDX-License-Identifier: Apache-2.0
#include "ir/core/function.h"

#include <array>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace egret::ir {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kHalfPi = 1.5707963267948966;

// Both precisions of a function that <cmath> overloads.
#define EGRET_CMATH(expression)                                             \
  [](double a, [[maybe_unused]] double b) -> double { return expression; }, \
      [](float a, [[maybe_unused]] float b) -> float { return expression; }
// Functions on integers, reached through a floating domain only with exactly represented values.
#define EGRET_INTEGER(function)                                                             \
  [](double a, double b) -> double {                                                        \
    return static_cast<double>(apply_integer(function, std::llrint(a), std::llrint(b)));    \
  },                                                                                        \
      [](float a, float b) -> float {                                                       \
        return static_cast<float>(apply_integer(function, std::llrint(a), std::llrint(b))); \
      }

constexpr auto kNo = Monotone::kNo;
constexpr auto kUp = Monotone::kIncreasing;
constexpr auto kDown = Monotone::kDecreasing;
constexpr auto kNone = Parity::kNone;
constexpr auto kOdd = Parity::kOdd;

using F = Function;

// Per row: function, name, arity, monotonicity, parity, range, domain, whether it takes integers
// only, and the two precisions.
const std::array<FunctionFacts, kFunctionCount> kFacts = {{
    {F::kExp, "exp", 1, kUp, kNone, 0, kInf, -kInf, kInf, false, EGRET_CMATH(std::exp(a))},
    {F::kLog, "log", 1, kUp, kNone, -kInf, kInf, 0, kInf, false, EGRET_CMATH(std::log(a))},
    {F::kSqrt, "sqrt", 1, kUp, kNone, 0, kInf, 0, kInf, false, EGRET_CMATH(std::sqrt(a))},
    {F::kPow, "pow", 2, kNo, kNone, -kInf, kInf, -kInf, kInf, false, EGRET_CMATH(std::pow(a, b))},
    {F::kErf, "erf", 1, kUp, kOdd, -1, 1, -kInf, kInf, false, EGRET_CMATH(std::erf(a))},
    {F::kTanh, "tanh", 1, kUp, kOdd, -1, 1, -kInf, kInf, false, EGRET_CMATH(std::tanh(a))},
    {F::kSin, "sin", 1, kNo, kOdd, -1, 1, -kInf, kInf, false, EGRET_CMATH(std::sin(a))},
    {F::kCos, "cos", 1, kNo, Parity::kEven, -1, 1, -kInf, kInf, false, EGRET_CMATH(std::cos(a))},
    {F::kTan, "tan", 1, kNo, kOdd, -kInf, kInf, -kInf, kInf, false, EGRET_CMATH(std::tan(a))},
    {F::kAsin, "asin", 1, kUp, kOdd, -kHalfPi, kHalfPi, -1, 1, false, EGRET_CMATH(std::asin(a))},
    {F::kAcos, "acos", 1, kDown, kNone, 0, 2 * kHalfPi, -1, 1, false, EGRET_CMATH(std::acos(a))},
    {F::kAtan, "atan", 1, kUp, kOdd, -kHalfPi, kHalfPi, -kInf, kInf, false,
     EGRET_CMATH(std::atan(a))},
    {F::kSinh, "sinh", 1, kUp, kOdd, -kInf, kInf, -kInf, kInf, false, EGRET_CMATH(std::sinh(a))},
    {F::kCosh, "cosh", 1, kNo, Parity::kEven, 1, kInf, -kInf, kInf, false,
     EGRET_CMATH(std::cosh(a))},
    {F::kAsinh, "asinh", 1, kUp, kOdd, -kInf, kInf, -kInf, kInf, false, EGRET_CMATH(std::asinh(a))},
    {F::kAcosh, "acosh", 1, kUp, kNone, 0, kInf, 1, kInf, false, EGRET_CMATH(std::acosh(a))},
    {F::kAtanh, "atanh", 1, kUp, kOdd, -kInf, kInf, -1, 1, false, EGRET_CMATH(std::atanh(a))},
    {F::kFloor, "floor", 1, kUp, kNone, -kInf, kInf, -kInf, kInf, false,
     EGRET_CMATH(std::floor(a))},
    {F::kCeil, "ceil", 1, kUp, kNone, -kInf, kInf, -kInf, kInf, false, EGRET_CMATH(std::ceil(a))},
    {F::kRoundEven, "round_even", 1, kUp, kOdd, -kInf, kInf, -kInf, kInf, false,
     EGRET_CMATH(std::nearbyint(a))},
    {F::kTrunc, "trunc", 1, kUp, kOdd, -kInf, kInf, -kInf, kInf, false, EGRET_CMATH(std::trunc(a))},
    {F::kBitAnd, "bit_and", 2, kNo, kNone, -kInf, kInf, -kInf, kInf, true,
     EGRET_INTEGER(F::kBitAnd)},
    {F::kBitOr, "bit_or", 2, kNo, kNone, -kInf, kInf, -kInf, kInf, true, EGRET_INTEGER(F::kBitOr)},
    {F::kBitXor, "bit_xor", 2, kNo, kNone, -kInf, kInf, -kInf, kInf, true,
     EGRET_INTEGER(F::kBitXor)},
    {F::kBitNot, "bit_not", 1, kDown, kNone, -kInf, kInf, -kInf, kInf, true,
     EGRET_INTEGER(F::kBitNot)},
    {F::kShiftLeft, "shift_left", 2, kNo, kNone, -kInf, kInf, -kInf, kInf, true,
     EGRET_INTEGER(F::kShiftLeft)},
    {F::kShiftRight, "shift_right", 2, kNo, kNone, -kInf, kInf, -kInf, kInf, true,
     EGRET_INTEGER(F::kShiftRight)},
}};

#undef EGRET_CMATH
#undef EGRET_INTEGER

}  // namespace

const FunctionFacts& facts(Function function) {
  const FunctionFacts& found = kFacts[static_cast<std::size_t>(function)];
  EGRET_DCHECK(found.function == function);
  return found;
}

std::span<const FunctionFacts> all_functions() { return kFacts; }

std::int64_t apply_integer(Function function, std::int64_t a, std::int64_t b) {
  const auto bits = static_cast<std::uint64_t>(a);
  switch (function) {
    case Function::kBitAnd: return a & b;
    case Function::kBitOr: return a | b;
    case Function::kBitXor: return a ^ b;
    case Function::kBitNot: return ~a;
    case Function::kShiftLeft: return b < 0 || b >= 64 ? 0 : static_cast<std::int64_t>(bits << b);
    case Function::kShiftRight: return b < 0 || b >= 64 ? 0 : static_cast<std::int64_t>(bits >> b);
    default: break;
  }
  EGRET_CHECK(false, "not a function on integers");
  return 0;
}

}  // namespace egret::ir
