// SPDX-License-Identifier: Apache-2.0
// The inner loops of pointwise programs, compiled once for each instruction set.
#include "backends/cpu/loops/pointwise_program.h"
#include "backends/cpu/loops/vector_math.h"

namespace egret::backends::cpu {
namespace {

// Registers may be the same memory, but then at the same index: no element depends on another.
#define EGRET_EACH(expression)                                                \
  do {                                                                        \
    _Pragma("GCC ivdep") for (int i = 0; i < n; ++i) { t[i] = (expression); } \
  } while (false);                                                            \
  break

EGRET_VECTOR_CLONES void run_instruction(VectorOp op, float* t, const float* a, const float* b,
                                         const float* c, int n) {
  switch (op) {
    case VectorOp::kCopy: EGRET_EACH(a[i]);
    case VectorOp::kAdd: EGRET_EACH(a[i] + b[i]);
    case VectorOp::kSub: EGRET_EACH(a[i] - b[i]);
    case VectorOp::kMul: EGRET_EACH(a[i] * b[i]);
    case VectorOp::kDiv: EGRET_EACH(a[i] / b[i]);
    case VectorOp::kNeg: EGRET_EACH(-a[i]);
    case VectorOp::kMin: EGRET_EACH(vector::min(a[i], b[i]));
    case VectorOp::kMax: EGRET_EACH(vector::max(a[i], b[i]));
    case VectorOp::kSelect: EGRET_EACH(a[i] != 0.0F ? b[i] : c[i]);
    case VectorOp::kLess: EGRET_EACH(a[i] < b[i] ? 1.0F : 0.0F);
    case VectorOp::kLessEqual: EGRET_EACH(a[i] <= b[i] ? 1.0F : 0.0F);
    case VectorOp::kEqual: EGRET_EACH(a[i] == b[i] ? 1.0F : 0.0F);
    case VectorOp::kAnd: EGRET_EACH(a[i] * b[i]);
    case VectorOp::kOr: EGRET_EACH(vector::max(a[i], b[i]));
    case VectorOp::kNot: EGRET_EACH(1.0F - a[i]);
    case VectorOp::kExp: EGRET_EACH(vector::exp(a[i]));
    case VectorOp::kLog: EGRET_EACH(vector::log(a[i]));
    case VectorOp::kSqrt: EGRET_EACH(std::sqrt(a[i]));
    case VectorOp::kErf: EGRET_EACH(vector::erf(a[i]));
    case VectorOp::kTanh: EGRET_EACH(vector::tanh(a[i]));
    case VectorOp::kFloor: EGRET_EACH(std::floor(a[i]));
    case VectorOp::kCeil: EGRET_EACH(std::ceil(a[i]));
    case VectorOp::kRound: EGRET_EACH(std::nearbyint(a[i]));
    case VectorOp::kTrunc: EGRET_EACH(std::trunc(a[i]));
    case VectorOp::kAbs: EGRET_EACH(std::fabs(a[i]));
    case VectorOp::kSquare: EGRET_EACH(a[i] * a[i]);
    case VectorOp::kScalarCall: break;
  }
}

#undef EGRET_EACH

}  // namespace

// Interprets the program instruction by instruction. One dispatch serves `count` elements, so its
// cost is spread over the block, and all registers of a block stay in the cache.
void run_block(std::span<const Instruction> code, float* const* registers, int count) {
  for (const Instruction& i : code) {
    float* const target = registers[i.target];
    const float* const a = registers[i.a];
    const float* const b = registers[i.b];
    if (i.op != VectorOp::kScalarCall) {
      run_instruction(i.op, target, a, b, registers[i.c], count);
      continue;
    }
    const auto function = ir::facts(i.function).f32;
    for (int k = 0; k < count; ++k) target[k] = function(a[k], b[k]);
  }
}

}  // namespace egret::backends::cpu
