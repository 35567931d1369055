// SPDX-License-Identifier: Apache-2.0
#include "backends/codegen/text/prelude.h"

#include "ir/core/function.h"

namespace egret::backends::codegen {
namespace {

constexpr const char* kHostOpening = R"(
#include <cmath>
#include <cstring>
#define EGRET_INLINE static inline
// Keeps a vector in a register: it is loaded once, and sums are neither split nor reordered.
#if defined(__x86_64__) || defined(__i386__)
#define EGRET_HOLD(vector) asm("" : "+v"(vector))
#elif defined(__aarch64__)
#define EGRET_HOLD(vector) asm("" : "+w"(vector))
#else
#define EGRET_HOLD(vector)
#endif
// Element i of a vector is the one of number i-th of `...` in the first vector, then the second.
#if defined(__clang__)
#define EGRET_PICK(Numbers, first, second, ...) __builtin_shufflevector(first, second, __VA_ARGS__)
#else
#define EGRET_PICK(Numbers, first, second, ...) __builtin_shuffle(first, second, (Numbers){__VA_ARGS__})
#endif
// The lanes of kBits, from memory; zeros in the others, which are not read.
template <class Vector, unsigned kBits, class T>
EGRET_INLINE Vector some_lanes(const T* from) {
  constexpr int kLanes = sizeof(Vector) / sizeof(T);
  typedef const T (*Read)[kLanes];
  Vector to;
#if defined(__AVX512VL__)
  const unsigned short bits = kBits;
  if (sizeof(T) == 8)
    asm("vmovupd %1, %0%{%2%}%{z%}" : "=v"(to) : "m"(*(Read)from), "Yk"(bits));
  else
    asm("vmovups %1, %0%{%2%}%{z%}" : "=v"(to) : "m"(*(Read)from), "Yk"(bits));
#elif defined(__AVX__)
  static_assert(sizeof(Vector) <= 32, "AVX has no longer vectors");
  decltype(to == to) mask;
  for (int lane = 0; lane < kLanes; ++lane) mask[lane] = kBits >> lane & 1 ? -1 : 0;
  if (sizeof(T) == 8)
    asm("vmaskmovpd %1, %2, %0" : "=x"(to) : "m"(*(Read)from), "x"(mask));
  else
    asm("vmaskmovps %1, %2, %0" : "=x"(to) : "m"(*(Read)from), "x"(mask));
#else
  for (int lane = 0; lane < kLanes; ++lane) to[lane] = kBits >> lane & 1 ? from[lane] : T();
#endif
  return to;
}
// Adds the products of pairs of neighbours to sums of 4 bytes. Both operands are vectors of int that
// hold two elements each.
#if defined(__AVX512BF16__) && defined(__AVX512VL__)
#define EGRET_ADD_BF16(sum, a, b) asm("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b))
#else
#define EGRET_ADD_BF16(sum, a, b)                                                      \
  for (unsigned lane = 0; lane < sizeof(sum) / 4; ++lane)                              \
    sum[lane] += real_of_bf16((unsigned short)(a)[lane]) * real_of_bf16((unsigned short)(b)[lane]) + \
                 real_of_bf16((unsigned)(a)[lane] >> 16) * real_of_bf16((unsigned)(b)[lane] >> 16)
#endif
#if defined(__AVX512VNNI__) && defined(__AVX512VL__)
#define EGRET_ADD_INT16(sum, a, b) asm("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b))
#else
#define EGRET_ADD_INT16(sum, a, b)                        \
  for (unsigned lane = 0; lane < sizeof(sum) / 4; ++lane) \
    sum[lane] += (unsigned)((short)(a)[lane] * (short)(b)[lane]) + \
                 (unsigned)(((a)[lane] >> 16) * ((b)[lane] >> 16))
#endif
// The same of four bytes, without a sign in the first vector and with one in the second.
#if defined(__AVX512VNNI__) && defined(__AVX512VL__)
#define EGRET_ADD_INT8(sum, a, b) asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b))
#else
#define EGRET_ADD_INT8(sum, a, b)                         \
  for (unsigned lane = 0; lane < sizeof(sum) / 4; ++lane) \
    for (int bit = 0; bit < 32; bit += 8)                 \
      sum[lane] += (unsigned)((unsigned char)((a)[lane] >> bit) * (signed char)((b)[lane] >> bit))
#endif
// The address of thread-local memory is looked up once.
#define EGRET_HOLD_ADDRESS(pointer) asm("" : "+r"(pointer))
)";

constexpr const char* kCudaOpening = R"(
#ifndef __CUDACC__
#include <cmath>
#include <cstring>
#endif
#define EGRET_INLINE static __device__ __forceinline__
)";

constexpr const char* kNumbers = R"(
typedef long long i64;
typedef unsigned long long u64;

#ifdef __CUDACC__
EGRET_INLINE double real_of(u64 bits) { return __longlong_as_double((i64)bits); }
EGRET_INLINE float float_of(unsigned bits) { return __uint_as_float(bits); }
EGRET_INLINE unsigned bits_of(float value) { return __float_as_uint(value); }
#else
EGRET_INLINE double real_of(u64 bits) { double r; std::memcpy(&r, &bits, 8); return r; }
EGRET_INLINE float float_of(unsigned bits) { float r; std::memcpy(&r, &bits, 4); return r; }
EGRET_INLINE unsigned bits_of(float value) { unsigned r; std::memcpy(&r, &value, 4); return r; }
#endif

EGRET_INLINE float real_of_bf16(unsigned short bits) { return float_of((unsigned)bits << 16); }
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
EGRET_INLINE unsigned short bf16_bits(float value) {
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
EGRET_INLINE float real_of_f16(unsigned short half) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
  return value;
}
EGRET_INLINE unsigned short f16_bits(float value) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
#else
EGRET_INLINE unsigned short bf16_bits(float value) {
  const unsigned bits = bits_of(value);
  if (value != value) return (unsigned short)((bits >> 16) | 0x40);
  return (unsigned short)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// The exponent moves by a multiplication, which also makes subnormal halves normal.
EGRET_INLINE float real_of_f16(unsigned short half) {
  const unsigned sign = (unsigned)(half & 0x8000) << 16;
  const unsigned rest = half & 0x7fff;
  if (rest >= 0x7c00) return float_of(sign | 0x7f800000 | ((rest & 0x3ff) << 13));
  return float_of(sign | bits_of(float_of(rest << 13) * float_of(0x77800000)));
}
EGRET_INLINE unsigned short f16_bits(float value) {
  const unsigned bits = bits_of(value);
  const unsigned sign = (bits >> 16) & 0x8000;
  const unsigned rest = bits & 0x7fffffff;
  if (rest > 0x7f800000) return (unsigned short)(sign | 0x7e00);
  if (rest >= 0x477ff000) return (unsigned short)(sign | 0x7c00);
  // Below the least normal half the sum's own rounding leaves units of 2^-24.
  if (rest < 0x38800000)
    return (unsigned short)(sign | (bits_of(float_of(rest) + 0.5f) - 0x3f000000));
  return (unsigned short)(sign | ((rest - 0x38000000 + 0xfff + ((rest >> 13) & 1)) >> 13));
}
#endif

// Truncates; NaN is 0; saturates to 64 bits, but keeps the bits of values that fit u64.
template <class Real>
EGRET_INLINE i64 integer_of(Real value) {
  const double real = value;
  if (real != real) return 0;
  if (real >= 9223372036854775808.0)
    return real < 18446744073709551616.0 ? (i64)(u64)real : 9223372036854775807LL;
  return real < -9223372036854775808.0 ? -9223372036854775807LL - 1 : (i64)real;
}

// Real extrema are NaN when either is.
struct Larger {
  template <class T> EGRET_MEMBER T operator()(T a, T b) const { return a >= b || a != a ? a : b; }
};
struct Smaller {
  template <class T> EGRET_MEMBER T operator()(T a, T b) const { return a <= b || a != a ? a : b; }
};
struct UnsignedLarger {
  EGRET_MEMBER i64 operator()(i64 a, i64 b) const { return (u64)a < (u64)b ? b : a; }
};
struct UnsignedSmaller {
  EGRET_MEMBER i64 operator()(i64 a, i64 b) const { return (u64)b < (u64)a ? b : a; }
};
struct Sum {
  template <class T> EGRET_MEMBER T operator()(T a, T b) const { return a + b; }
};
struct Product {
  template <class T> EGRET_MEMBER T operator()(T a, T b) const { return a * b; }
};
struct IntegerSum {
  EGRET_MEMBER i64 operator()(i64 a, i64 b) const { return (i64)((u64)a + (u64)b); }
};
struct IntegerProduct {
  EGRET_MEMBER i64 operator()(i64 a, i64 b) const { return (i64)((u64)a * (u64)b); }
};
EGRET_INLINE i64 integer_difference(i64 a, i64 b) { return (i64)((u64)a - (u64)b); }
EGRET_INLINE i64 integer_quotient(i64 a, i64 b, int* failure) {
  if (b == 0) *failure = 2;
  return b == 0 ? 0 : b == -1 ? integer_difference(0, a) : a / b;
}
EGRET_INLINE i64 unsigned_quotient(i64 a, i64 b, int* failure) {
  if (b == 0) *failure = 2;
  return b == 0 ? 0 : (i64)((u64)a / (u64)b);
}

// Indices.
template <class T> EGRET_INLINE T least(T a, T b) { return b < a ? b : a; }
template <class T> EGRET_INLINE T most(T a, T b) { return a < b ? b : a; }
template <class T> EGRET_INLINE T floor_div(T a, T b) { return a / b - (a % b < 0 ? 1 : 0); }
template <class T> EGRET_INLINE T floor_mod(T a, T b) { return a % b + (a % b < 0 ? b : 0); }
EGRET_INLINE i64 checked_div(i64 a, i64 b, int* failure) {
  if (b <= 0) *failure = 2;
  return b <= 0 ? 0 : floor_div<i64>(a, b);
}
EGRET_INLINE i64 checked_mod(i64 a, i64 b, int* failure) {
  if (b <= 0) *failure = 2;
  return b <= 0 ? 0 : floor_mod<i64>(a, b);
}
EGRET_INLINE bool in_range(i64 i, i64 size) { return i >= 0 && i < size; }
)";

// Neighbouring elements that a thread loads, computes or stores together, and a fold over the
// threads of a block; all get the result. Every thread of the block must call it.
constexpr const char* kThreadHelpers = R"(
#ifdef __CUDACC__
#define EGRET_UNROLL _Pragma("unroll")
#define EGRET_EACH(width) EGRET_UNROLL for (int u = 0; u < width; ++u)
#else
#define EGRET_UNROLL
#define EGRET_EACH(width) for (int u = 0; u < width; ++u)
#endif
template <class T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Pack { T at[N]; };
template <int N, class T>
EGRET_INLINE Pack<T, N> pack_at(const T* from) { return *(const Pack<T, N>*)from; }
template <class T, int N>
EGRET_INLINE void put_pack(T* to, const Pack<T, N>& pack) { *(Pack<T, N>*)to = pack; }

template <class T, class Fold>
EGRET_INLINE T fold_over_block(T value, Fold fold) {
  __shared__ T of_warp[32];
  for (int mask = 16; mask > 0; mask /= 2)
    value = fold(value, __shfl_xor_sync(0xffffffffu, value, mask));
  if (blockDim.x == 32) return value;
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  value = of_warp[0];
  for (int warp = 1; warp < (int)blockDim.x / 32; ++warp) value = fold(value, of_warp[warp]);
  __syncthreads();
  return value;
}
)";

// fn_exp(float), fn_exp(double), ...: C's names, but for those it calls otherwise. Powers of
// integers are made integers: a GPU's pow() may miss them by a unit in the last place.
std::string functions() {
  std::string text;
  for (const ir::FunctionFacts& facts : ir::all_functions()) {
    const std::string name(facts.name);
    const bool binary = facts.arity == 2;
    if (facts.integers_only || facts.function == ir::Function::kPow) continue;
    const std::string c_name = facts.function == ir::Function::kRoundEven ? "rint" : name;
    for (const std::string type : {"float", "double"}) {
      text += "EGRET_INLINE " + type + " fn_" + name + "(" + type + " a" +
              (binary ? ", " + type + " b" : "") + ") { return " + c_name +
              (type == "float" ? "f(a" : "(a") + (binary ? ", b); }\n" : "); }\n");
    }
  }
  return text + R"(
EGRET_INLINE float power_of(float a, float b) { return powf(a, b); }
EGRET_INLINE double power_of(double a, double b) { return pow(a, b); }
template <class Real>
EGRET_INLINE Real fn_pow(Real a, Real b) {
  const Real power = power_of(a, b);
  return b >= 0 && fn_floor(a) == a && fn_floor(b) == b ? fn_round_even(power) : power;
}
EGRET_INLINE i64 fn_bit_and(i64 a, i64 b) { return a & b; }
EGRET_INLINE i64 fn_bit_or(i64 a, i64 b) { return a | b; }
EGRET_INLINE i64 fn_bit_xor(i64 a, i64 b) { return a ^ b; }
EGRET_INLINE i64 fn_bit_not(i64 a) { return ~a; }
EGRET_INLINE i64 fn_shift_left(i64 a, i64 b) { return b < 0 || b >= 64 ? 0 : (i64)((u64)a << b); }
EGRET_INLINE i64 fn_shift_right(i64 a, i64 b) { return b < 0 || b >= 64 ? 0 : (i64)((u64)a >> b); }
)";
}

std::string make_prelude(Target target) {
  const bool cuda = target == Target::kCuda;
  const std::string member =
      cuda ? "#define EGRET_MEMBER __device__ __forceinline__\n" : "#define EGRET_MEMBER inline\n";
  return (cuda ? kCudaOpening : kHostOpening) + member + kNumbers + functions() +
         (cuda ? kThreadHelpers : "");
}

}  // namespace

const std::string& prelude(Target target) {
  static const std::string host = make_prelude(Target::kHost);
  static const std::string cuda = make_prelude(Target::kCuda);
  return target == Target::kCuda ? cuda : host;
}

}  // namespace egret::backends::codegen
