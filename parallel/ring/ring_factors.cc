// SPDX-License-Identifier: Apache-2.0
#include "parallel/ring/ring_factors.h"

#include <algorithm>
#include <vector>

#include "parallel/laws/homogeneous_laws.h"

namespace egret::parallel {
namespace {

using ir::ExprNode;
using ir::ExprOp;
using Kind = Factor::Kind;

// Recognizes by the definition how a value depends on one that is still incomplete: linearly,
// divided by it, shifted by it, or scaled by the exponential of it.
class FactorReader {
 public:
  FactorReader(const ir::Denotation& denotation, std::span<const ir::TensorType> types,
               std::span<const Factor> inputs, const ir::TensorType& value)
      : denotation_(denotation), types_(types), inputs_(inputs), value_(value) {}

  std::optional<Factor> read() const {
    if (std::ranges::all_of(inputs_, &Factor::is_free) || denotation_.value.is_constant())
      return Factor{};
    const ExprNode* root = denotation_.value.node();
    if (!ir::is_float(denotation_.type.dtype) || !all_aligned(root)) return std::nullopt;
    if (const auto same = linear()) return same;
    if (is_quotient(root)) return Factor{Kind::kDivided};
    const bool exponential = is_exponential(denotation_);
    // exp(x + t) is scaled by exp(t); x + t is shifted by t. Multiples of t other than plus and
    // minus one have no correction here.
    const std::optional<int> shift = shift_of(exponential ? root->kids[0] : root);
    if (!shift || *shift < -1 || *shift > 1) return std::nullopt;
    if (*shift == 0) return Factor{};
    return Factor{exponential ? Kind::kScaled : Kind::kShifted, *shift};
  }

 private:
  const Factor& factor(const ExprNode* read) const {
    return inputs_[static_cast<std::size_t>(read->integer)];
  }

  bool depends(const ExprNode* node) const {
    if (node->op == ExprOp::kRead && !factor(node).is_free()) return true;
    return std::ranges::any_of(node->kids, [&](const ExprNode* kid) { return depends(kid); });
  }

  // Whether dependent reads are at the result's own indices, along the dimensions where t has
  // several elements.
  bool all_aligned(const ExprNode* node) const {
    if (node->op == ExprOp::kRead && !factor(node).is_free() && !is_aligned(node)) return false;
    return std::ranges::all_of(node->kids, [&](const ExprNode* kid) { return all_aligned(kid); });
  }

  bool is_aligned(const ExprNode* read) const {
    const auto& own = denotation_.vars;
    for (std::size_t back = 1; back <= value_.dims.size(); ++back) {
      const std::int64_t size = value_.dims[value_.dims.size() - back].constant();
      if (size == 1) continue;
      if (back > own.size() || back > read->kids.size()) return false;
      const ir::Index variable = own[own.size() - back];
      if (denotation_.type.dims[own.size() - back].constant() != size) return false;
      if (variable.is_constant() || read->kids[read->kids.size() - back] != variable.node())
        return false;
    }
    return true;
  }

  // The common factor of an element that is linear in inputs with equal factors: it passes through
  // (parallel/laws/homogeneous_laws.h). Inputs with different factors would need different
  // corrections.
  std::optional<Factor> linear() const {
    Factor all;
    PartialSource source;
    for (const Factor& one : inputs_) {
      source.inputs.push_back(!one.is_free());
      if (one.is_free()) continue;
      if (one.kind != Kind::kScaled && one.kind != Kind::kDivided) return std::nullopt;
      if (!all.is_free() && all != one) return std::nullopt;
      all = one;
    }
    if (!is_homogeneous(denotation_, types_, source, AxisPlacement::Kind::kSum))
      return std::nullopt;
    return all;
  }

  bool is_quotient(const ExprNode* root) const {
    if (root->op != ExprOp::kDiv || depends(root->kids[0])) return false;
    const ExprNode* by = root->kids[1];
    return by->op == ExprOp::kRead && factor(by).kind == Kind::kItself;
  }

  // The coefficient of t in x + n t. Shifts add up: each one is the coefficient of t in a sum. Any
  // other operator between t and the result gives no shift.
  std::optional<int> shift_of(const ExprNode* node) const {
    if (!depends(node)) return 0;
    const auto kid = [&](std::size_t i) { return shift_of(node->kids[i]); };
    switch (node->op) {
      case ExprOp::kRead: {
        const Factor& one = factor(node);
        if (one.kind == Kind::kItself) return 1;
        return one.kind == Kind::kShifted ? std::optional(one.sign) : std::nullopt;
      }
      case ExprOp::kNeg: {
        const auto a = kid(0);
        return a ? std::optional(-*a) : std::nullopt;
      }
      case ExprOp::kAdd:
      case ExprOp::kSub: {
        const auto a = kid(0);
        const auto b = kid(1);
        if (!a || !b) return std::nullopt;
        return node->op == ExprOp::kAdd ? *a + *b : *a - *b;
      }
      default: return std::nullopt;
    }
  }

  const ir::Denotation& denotation_;
  const std::span<const ir::TensorType> types_;
  const std::span<const Factor> inputs_;
  const ir::TensorType& value_;
};

}  // namespace

std::optional<Factor> factor_of(const ir::Denotation& denotation,
                                std::span<const ir::TensorType> types,
                                std::span<const Factor> inputs, const ir::TensorType& value) {
  return FactorReader(denotation, types, inputs, value).read();
}

// The input that is divided, if it is read at the result's own indices. The steps then pass it on
// undivided.
std::optional<std::size_t> numerator_of(const ir::Denotation& denotation) {
  if (denotation.value.is_constant() || denotation.value.node()->op != ExprOp::kDiv)
    return std::nullopt;
  const ExprNode* read = denotation.value.node()->kids[0];
  if (read->op != ExprOp::kRead || read->kids.size() != denotation.vars.size()) return std::nullopt;
  for (std::size_t dim = 0; dim < read->kids.size(); ++dim) {
    const ir::Index variable = denotation.vars[dim];
    if (!variable.is_constant() && read->kids[dim] != variable.node()) return std::nullopt;
  }
  return static_cast<std::size_t>(read->integer);
}

bool is_exponential(const ir::Denotation& denotation) {
  if (denotation.value.is_constant()) return false;
  const ExprNode* root = denotation.value.node();
  return root->op == ExprOp::kCall && root->function == ir::Function::kExp;
}

}  // namespace egret::parallel
