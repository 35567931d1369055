// SPDX-License-Identifier: Apache-2.0
#include "backends/codegen/contractions/pairs.h"

#include <algorithm>
#include <optional>

namespace egret::backends::codegen {
namespace {

using ir::DType;
using ir::ExprOp;

constexpr int kDeepest = 32;  // nodes of a factor, one in the other

class Values {
 public:
  Values(const ContractionForm::Part& part, std::span<const ir::TensorType> inputs)
      : nest_(part.nest), inputs_(inputs) {}

  bool are_bf16() const { return is_bf16(nest_.root, kDeepest); }
  bool are_int16() const {
    const auto range = range_of(nest_.root, kDeepest);
    return range && range->low >= -32768 && range->high <= 32767;
  }

 private:
  DType stored(const ir::NestNode& node) const {
    return inputs_[static_cast<std::size_t>(node.input)].dtype;
  }

  bool is_bf16(int id, int depth) const {
    const ir::NestNode& node = nest_.node(id);
    if (depth == 0) return false;
    switch (node.op) {
      case ExprOp::kRead: return stored(node) == DType::kBF16;
      case ExprOp::kCast: return node.cast == DType::kBF16 && node.is_real();
      case ExprOp::kConst: return node.is_real() && node.real == 0;
      case ExprOp::kMax:
      case ExprOp::kMin:
      case ExprOp::kNeg:
      case ExprOp::kSelect:
        return std::ranges::all_of(node.kids, [&](int kid) { return is_bf16(kid, depth - 1); });
      default: return false;
    }
  }

  // Of an integer; nullopt: unknown.
  std::optional<ir::Range> range_of(int id, int depth) const {
    const ir::NestNode& node = nest_.node(id);
    if (depth == 0 || node.is_real() || node.type == DType::kBool) return std::nullopt;
    switch (node.op) {
      case ExprOp::kRead:
        if (stored(node) == DType::kI8) return ir::Range{-128, 127};
        if (stored(node) == DType::kU8) return ir::Range{0, 255};
        if (stored(node) == DType::kI16) return ir::Range{-32768, 32767};
        return std::nullopt;
      case ExprOp::kConst: return ir::Range{node.integer, node.integer};
      case ExprOp::kCast: {
        // A wider type keeps the value. Sums count modulo 2^32, so its sign may change.
        const auto from = range_of(node.kids[0], depth - 1);
        return from && ir::byte_size(node.type) >= 4 ? from : std::nullopt;
      }
      case ExprOp::kAdd:
      case ExprOp::kSub: {
        const auto a = range_of(node.kids[0], depth - 1), b = range_of(node.kids[1], depth - 1);
        if (!a || !b || ir::byte_size(node.type) < 4) return std::nullopt;
        return *a + *b * (node.op == ExprOp::kSub ? -1 : 1);
      }
      default: return std::nullopt;
    }
  }

  const ir::LoopNest& nest_;
  std::span<const ir::TensorType> inputs_;
};

}  // namespace

Pairs pairs_of(const ContractionForm& form, std::span<const ir::TensorType> inputs,
               const HostProcessor& processor, const std::string& type) {
  if (form.depth < 2) return Pairs::kNone;
  const Values left(form.left, inputs), right(form.right, inputs);
  if (processor.has_bf16_pairs && type == "float" && left.are_bf16() && right.are_bf16())
    return Pairs::kBF16;
  if (processor.has_int16_pairs && type == "unsigned int" && left.are_int16() && right.are_int16())
    return Pairs::kInt16;
  return Pairs::kNone;
}

}  // namespace egret::backends::codegen
