// SPDX-License-Identifier: Apache-2.0
#include "ir/analysis/sign.h"

#include <algorithm>
#include <map>

namespace egret::ir {
namespace {

// Structural induction over a denotation's scalars.
class Signs {
 public:
  Signs(DType output, std::span<const SignedInput> inputs) : output_(output), inputs_(inputs) {}

  // The entry exists while its kids are visited, with the safe answer.
  Sign of(const ExprNode& node) {
    const auto [found, is_new] = known_.emplace(&node, Sign::kUnknown);
    if (is_new) {
      const Sign sign = fresh(node);
      known_[&node] = sign;
      return sign;
    }
    return found->second;
  }

 private:
  // Integers of fixed width wrap around: a sum of positive ones may be negative or 0.
  bool wraps() const { return is_integer(output_); }
  Sign of_kid(const ExprNode& node, std::size_t i) { return of(*node.kids[i]); }
  Sign least(const ExprNode& node, std::size_t first = 0) {
    return std::min(of_kid(node, first), of_kid(node, first + 1));
  }

  Sign fresh(const ExprNode& node) {
    switch (node.op) {
      case ExprOp::kConst: return sign_of(node.real);
      case ExprOp::kRead: {
        const SignedInput& input = inputs_[static_cast<std::size_t>(node.integer)];
        return std::max(input.sign, sign_of(input.dtype));
      }
      case ExprOp::kAdd:
        if (wraps()) return Sign::kUnknown;
        return least(node) == Sign::kUnknown ? Sign::kUnknown
                                             : std::max(of_kid(node, 0), of_kid(node, 1));
      case ExprOp::kMul:
        if (wraps()) return Sign::kUnknown;
        return node.kids[0] == node.kids[1] ? std::max(of_kid(node, 0), Sign::kNotNegative)
                                            : least(node);
      case ExprOp::kDiv:
        // A defined quotient has a divisor that is not 0. Of integers it is cut off.
        if (least(node) == Sign::kUnknown) return Sign::kUnknown;
        return is_float(output_) ? of_kid(node, 0) : Sign::kNotNegative;
      case ExprOp::kMin: return least(node);
      case ExprOp::kMax: return std::max(of_kid(node, 0), of_kid(node, 1));
      case ExprOp::kCall: return of_call(node);
      case ExprOp::kSelect: return least(node, 1);
      case ExprOp::kReduce: return of_reduction(node);
      case ExprOp::kScalarOf: return wraps() ? Sign::kUnknown : of_index(*node.kids[0]);
      case ExprOp::kCast:
        if (is_float(node.dtype)) return of_kid(node, 0);
        return sign_of(node.dtype);
      default: return Sign::kUnknown;
    }
  }

  Sign of_call(const ExprNode& node) {
    // The magnitude of the least integer wraps around to itself.
    if (wraps()) return Sign::kUnknown;
    if (node.function == Function::kExp) return Sign::kPositive;
    if (node.function == Function::kPow) return of_kid(node, 0);
    const FunctionFacts& known = facts(node.function);
    if (node.function == Function::kSqrt && of_kid(node, 0) == Sign::kPositive)
      return Sign::kPositive;
    return known.low >= 0 ? Sign::kNotNegative : Sign::kUnknown;
  }

  // var, extent, guard, body. Over an empty range a sum is 0, a product is 1, and the extrema have
  // no value.
  Sign of_reduction(const ExprNode& node) {
    const bool adds_or_multiplies =
        node.reduction == Reduction::kSum || node.reduction == Reduction::kProd;
    if (adds_or_multiplies && wraps()) return Sign::kUnknown;
    const Sign body = of_kid(node, 3);
    return node.reduction == Reduction::kSum ? std::min(body, Sign::kNotNegative) : body;
  }

  static Sign of_index(const ExprNode& index) {
    switch (index.op) {
      case ExprOp::kIndexConst: return sign_of(static_cast<double>(index.integer));
      case ExprOp::kVar:
      case ExprOp::kIndexMod: return Sign::kNotNegative;
      default: return Sign::kUnknown;
    }
  }

  DType output_;
  std::span<const SignedInput> inputs_;
  std::map<const ExprNode*, Sign> known_;
};

}  // namespace

Sign sign_of(DType dtype) {
  return dtype == DType::kBool || (is_integer(dtype) && !is_signed_integer(dtype))
             ? Sign::kNotNegative
             : Sign::kUnknown;
}

Sign sign_of(double number) {
  if (number > 0) return Sign::kPositive;
  return number == 0 ? Sign::kNotNegative : Sign::kUnknown;  // also of what is no number
}

Sign sign_of(const Tensor& tensor) {
  Sign least = Sign::kPositive;
  for (std::int64_t i = 0; i < tensor.elements() && least != Sign::kUnknown; ++i)
    least = std::min(least, sign_of(tensor.f64_at(i)));
  return least;
}

Sign sign_of(const Denotation& denotation, std::span<const SignedInput> inputs) {
  const Sign of_type = sign_of(denotation.type.dtype);
  if (denotation.value.is_constant())
    return std::max(of_type, sign_of(denotation.value.constant()));
  return std::max(of_type, Signs(denotation.type.dtype, inputs).of(*denotation.value.node()));
}

}  // namespace egret::ir
