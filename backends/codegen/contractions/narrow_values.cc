// SPDX-License-Identifier: Apache-2.0
#include "backends/codegen/contractions/narrow_values.h"

#include <algorithm>

namespace egret::backends::codegen {
namespace {

using ir::DType;
using ir::ExprOp;

constexpr int kDeepest = 32;  // nodes of a factor, one in the other

}  // namespace

bool NarrowValues::are(DType narrow) const { return fits(narrow, nest_.root, kDeepest); }

std::optional<ir::Range> NarrowValues::range() const { return range_of(nest_.root, kDeepest); }

bool NarrowValues::are_within(std::int64_t low, std::int64_t high) const {
  const auto found = range();
  return found && found->low >= low && found->high <= high;
}

bool NarrowValues::fits(DType narrow, int id, int depth) const {
  const ir::NestNode& node = nest_.node(id);
  if (depth == 0) return false;
  switch (node.op) {
    case ExprOp::kRead: return stored(node) == narrow;
    case ExprOp::kCast: {
      if (!node.is_real()) return false;
      if (node.cast == narrow) return true;
      // A wider type keeps the value.
      const bool wider = node.cast == DType::kF32 || node.cast == DType::kF64;
      return wider && fits(narrow, node.kids[0], depth - 1);
    }
    case ExprOp::kConst: return node.is_real() && node.real == 0;
    case ExprOp::kMax:
    case ExprOp::kMin:
    case ExprOp::kNeg:
    case ExprOp::kSelect:
      return std::ranges::all_of(node.kids, [&](int kid) { return fits(narrow, kid, depth - 1); });
    default: return false;
  }
}

std::optional<ir::Range> NarrowValues::range_of(int id, int depth) const {
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

}  // namespace egret::backends::codegen
