// SPDX-License-Identifier: Apache-2.0
#include "ir/autodiff/function_derivatives.h"

#include <numbers>

namespace egret::ir::autodiff {
namespace {

// x^y in x: y * x^(y-1), where y = 0 means 0 whatever x is.
int power_in_base(NestAlgebra& n, int x, int y) {
  const int slope = n.mul(y, n.call(Function::kPow, {x, n.sub(y, n.constant(1))}));
  return n.select(n.equal(y, n.constant(0)), n.constant(0), slope);
}

// x^y in y: x^y * log x; 0^y stays 0 as y moves.
int power_in_exponent(NestAlgebra& n, int x, int power) {
  const int slope = n.mul(power, n.call(Function::kLog, {x}));
  return n.select(n.equal(x, n.constant(0)), n.constant(0), slope);
}

}  // namespace

// The derivative in one argument as an expression. It reuses the value if it is a function of the
// value (exp, sqrt, tanh, tan). Functions that are constant between jumps have no derivative.
std::optional<int> derivative(NestAlgebra& n, const LoopNest& nest, int node, int argument) {
  const Function function = nest.node(node).function;
  const int x = nest.node(node).kids[0];
  const auto one = [&] { return n.constant(1); };
  const auto square = [&](int a) { return n.mul(a, a); };
  const auto inverse = [&](int a) { return n.div(one(), a); };
  const auto inverse_root = [&](int a) { return inverse(n.call(Function::kSqrt, {a})); };
  switch (function) {
    case Function::kExp: return node;
    case Function::kLog: return inverse(x);
    case Function::kSqrt: return n.div(n.constant(0.5), node);
    case Function::kPow: {
      const int y = nest.node(node).kids[1];
      return argument == 0 ? power_in_base(n, x, y) : power_in_exponent(n, x, node);
    }
    case Function::kErf:
      return n.mul(n.constant(2 * std::numbers::inv_sqrtpi),
                   n.call(Function::kExp, {n.neg(square(x))}));
    case Function::kTanh: return n.sub(one(), square(node));
    case Function::kSin: return n.call(Function::kCos, {x});
    case Function::kCos: return n.neg(n.call(Function::kSin, {x}));
    case Function::kTan: return n.add(one(), square(node));
    case Function::kAsin: return inverse_root(n.sub(one(), square(x)));
    case Function::kAcos: return n.neg(inverse_root(n.sub(one(), square(x))));
    case Function::kAtan: return inverse(n.add(one(), square(x)));
    case Function::kSinh: return n.call(Function::kCosh, {x});
    case Function::kCosh: return n.call(Function::kSinh, {x});
    case Function::kAsinh: return inverse_root(n.add(square(x), one()));
    case Function::kAcosh: return inverse_root(n.sub(square(x), one()));
    case Function::kAtanh: return inverse(n.sub(one(), square(x)));
    case Function::kFloor:
    case Function::kCeil:
    case Function::kRoundEven:
    case Function::kTrunc:
    case Function::kBitAnd:
    case Function::kBitOr:
    case Function::kBitXor:
    case Function::kBitNot:
    case Function::kShiftLeft:
    case Function::kShiftRight: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace egret::ir::autodiff
