// SPDX-License-Identifier: Apache-2.0
// Opaque scalar functions and the algebraic facts that rewriting and proofs may use about them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace egret::ir {

enum class Function : std::uint8_t {
  kExp,
  kLog,
  kSqrt,
  kPow,
  kErf,
  kTanh,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kAsinh,
  kAcosh,
  kAtanh,
  kFloor,
  kCeil,
  kRoundEven,
  kTrunc,
  kBitAnd,
  kBitOr,
  kBitXor,
  kBitNot,
  kShiftLeft,
  kShiftRight,
};

inline constexpr int kFunctionCount = 27;

enum class Monotone : std::int8_t { kNo, kIncreasing, kDecreasing };
enum class Parity : std::int8_t { kNone, kOdd, kEven };

struct FunctionFacts {
  Function function;
  std::string_view name;
  int arity;
  Monotone monotone;  // on its whole domain; unary functions only
  Parity parity;
  double low, high;                // closed bounds of its values, infinite where there is none
  double domain_low, domain_high;  // of reals: closed bounds of a unary function's argument
  bool integers_only;              // defined on integer element types alone
  double (*f64)(double, double);   // the value; unary functions ignore the second argument
  float (*f32)(float, float);
};

const FunctionFacts& facts(Function function);
std::span<const FunctionFacts> all_functions();

// The functions defined on integers alone, in 64-bit two's complement. A shift by 64 or more is 0.
std::int64_t apply_integer(Function function, std::int64_t a, std::int64_t b);

}  // namespace egret::ir
