// SPDX-License-Identifier: Apache-2.0
// Elementary functions on f32 as straight-line code, so that a loop over an array compiles to
// vector instructions. Each function states its largest error in units in the last place (ulp) of
// the exact result; tests/backends/vector_math_test.cc tries every 499th float. NaN gives NaN.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

// One body, compiled for several instruction sets; the loader picks. Thread sanitizers and
// sanitized builds cannot resolve the choice early enough and take the plain body.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define EGRET_VECTOR_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define EGRET_VECTOR_CLONES
#endif
#define EGRET_VECTOR_INLINE static inline __attribute__((always_inline))

namespace egret::backends::cpu::vector {

// x = n ln 2 + r with |r| <= ln(2)/2, for |x| < 2^21.
struct Reduced {
  float r;
  std::int32_t n;
};
EGRET_VECTOR_INLINE Reduced reduced(float x) {
  constexpr float kRound = 0x1.8p23F;  // adding it rounds to an integer in the low bits
  const float shifted = x * 0x1.715476p+0F + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * 0x1.62e4p-1F) - n * 0x1.7f7d1cp-20F;
  return {r, std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(kRound)};
}

// (e^r - 1 - r) / r^2 by the Taylor polynomial of e^r of degree 7 (relative error of e^r 6e-9).
EGRET_VECTOR_INLINE float exp_tail(float r) {
  float p = 1.0F / 5040;
  p = p * r + 1.0F / 720;
  p = p * r + 1.0F / 120;
  p = p * r + 1.0F / 24;
  p = p * r + 1.0F / 6;
  return p * r + 0.5F;
}

// e^r times 2^n in two factors, so that results near overflow and below the normal range come out
// right. 1.2 ulp.
EGRET_VECTOR_INLINE float exp(float x) {
  float c = x < -104.0F ? -104.0F : x;
  c = c > 89.0F ? 89.0F : c;
  const Reduced y = reduced(c);
  const float p = (exp_tail(y.r) * y.r + 1.0F) * y.r + 1.0F;
  const std::int32_t half = y.n >> 1;
  const float a = std::bit_cast<float>((half + 127) << 23);
  const float b = std::bit_cast<float>((y.n - half + 127) << 23);
  return p * a * b;
}

// e^x of x <= 0 that is no NaN, as exp() but 0 below -88: one factor, and one limit that compares
// bits (the further below 0, the larger they are).
EGRET_VECTOR_INLINE float exp_below_zero(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  constexpr auto kLimit = std::bit_cast<std::uint32_t>(-88.0F);  // 2^-127 becomes 0
  const Reduced y = reduced(std::bit_cast<float>(bits < kLimit ? bits : kLimit));
  const float p = (exp_tail(y.r) * y.r + 1.0F) * y.r + 1.0F;
  return p * std::bit_cast<float>((y.n + 127) << 23);
}

// x = 2^e m, m in [sqrt(1/2), sqrt(2)); log m = 2 atanh((m-1)/(m+1)) by its series. 2 ulp.
EGRET_VECTOR_INLINE float log(float x) {
  const bool tiny = x < 0x1p-126F;
  const float y = tiny ? x * 0x1p24F : x;
  const std::int32_t bits = std::bit_cast<std::int32_t>(y);
  const std::int32_t exponent = (bits - 0x3f3504f3) >> 23;
  const float m = std::bit_cast<float>(bits - (exponent << 23));
  const float e = static_cast<float>(exponent) - (tiny ? 24.0F : 0.0F);
  const float s = (m - 1.0F) / (m + 1.0F);
  const float z = s * s;
  float p = 2.0F / 9;
  p = p * z + 2.0F / 7;
  p = p * z + 2.0F / 5;
  p = p * z + 2.0F / 3;
  const float low = p * z * s + e * 0x1.7f7d1cp-20F;
  const float result = e * 0x1.62e4p-1F + (2.0F * s + low);
  constexpr float kInf = std::numeric_limits<float>::infinity();
  float fixed = x == 0.0F ? -kInf : result;
  fixed = x == kInf ? kInf : fixed;
  return x < 0.0F || x != x ? std::numeric_limits<float>::quiet_NaN() : fixed;
}

// With e = e^(2|x|) - 1, e / (e + 2). 2|x| = n ln 2 + r with n >= 0, and e = 2^n (e^r - 1) +
// (2^n - 1), where nothing cancels. From 9.1 on the result is 1. 3 ulp.
EGRET_VECTOR_INLINE float tanh(float x) {
  const float a = std::fabs(x);
  const Reduced y = reduced(2.0F * (a > 9.1F ? 9.1F : a));
  const float q = exp_tail(y.r) * (y.r * y.r) + y.r;
  const float scale = std::bit_cast<float>((y.n + 127) << 23);
  const float e = scale * q + (scale - 1.0F);
  return std::copysign(e / (e + 2.0F), x);
}

// Below 1, x times a polynomial of degree 6 in x^2 (relative error 1.3e-9); above, 1 - 2^b with b
// of degree 5 in |x| (error of the result 1.6e-8) and 2^r by a polynomial of degree 5 (7.5e-8):
// minimax fits by Lawson's iteration. From 4 on the result is 1. 2.5 ulp.
EGRET_VECTOR_INLINE float erf(float x) {
  constexpr float kRound = 0x1.8p23F;
  const float z = x * x;
  float s = 7.853861461626366e-05F;
  s = s * z - 0.0008010193705558777F;
  s = s * z + 0.005188327748328447F;
  s = s * z - 0.026853812858462334F;
  s = s * z + 0.1128358542919159F;
  s = s * z - 0.3761262595653534F;
  s = s * z + 1.1283791065216064F;
  const float a = std::fabs(x);
  const float c = a > 4.0F ? 4.0F : a;
  float b = -0.001659704139456153F;
  b = b * c + 0.021320289000868797F;
  b = b * c - 0.12787199020385742F;
  b = b * c - 0.9442281126976013F;
  b = b * c - 1.612122893333435F;
  b = b * c - 0.0038544763810932636F;
  const float shifted = b + kRound;
  const float r = b - (shifted - kRound);
  float p = 0.0013276408426463604F;
  p = p * r + 0.009675540961325169F;
  p = p * r + 0.05550713464617729F;
  p = p * r + 0.24022120237350464F;
  p = p * r + 0.6931469440460205F;
  p = p * r + 1.0000001192092896F;
  const auto whole = std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(kRound);
  const float rest = p * std::bit_cast<float>((whole + 127) << 23);
  return a < 1.0F ? x * s : std::copysign(1.0F - rest, x);
}

// Either operand's NaN wins, as the denotation language asks.
EGRET_VECTOR_INLINE float max(float a, float b) {
  const float larger = a > b ? a : b;
  return a != a ? a : larger;
}
EGRET_VECTOR_INLINE float min(float a, float b) {
  const float smaller = a < b ? a : b;
  return a != a ? a : smaller;
}

}  // namespace egret::backends::cpu::vector
