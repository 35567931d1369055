// SPDX-License-Identifier: Apache-2.0
#include "parallel/laws/halo_needs.h"

#include <algorithm>
#include <limits>

#include "parallel/laws/expression_nodes.h"
#include "parallel/laws/index_arithmetic.h"

namespace egret::parallel {
namespace {

using ir::ExprNode;
using ir::ExprOp;

// Reads of an input whose index of a dimension is this one, beyond the end, find this value.
struct BeyondEnd {
  std::int64_t input;
  std::size_t dim;
  const IndexForm& at;
  double value;
};

bool is_same_index(const IndexForm& a, const IndexForm& b) {
  Sum difference = a.sum;
  difference.add(b.sum, -1);
  return difference.is_constant() && difference.constant == 0 && a.moves == b.moves;
}

// The value of an element that is a number, maybe because of what is beyond the end (`end` and
// `indices` may be nullptr). As everywhere in placement laws, 0 times an element is 0.
std::optional<double> value_of(const ExprNode* node, const BeyondEnd* end, IndexForms* indices) {
  const auto kid = [&](std::size_t i) { return value_of(node->kids[i], end, indices); };
  switch (node->op) {
    case ExprOp::kConst: return node->real;
    case ExprOp::kRead: {
      if (end == nullptr || node->integer != end->input) return std::nullopt;
      const bool same = is_same_index(indices->of(node->kids[end->dim]), end->at);
      return same ? std::optional(end->value) : std::nullopt;
    }
    case ExprOp::kMul: {
      const auto a = kid(0);
      const auto b = kid(1);
      if (a == 0.0 || b == 0.0) return 0;
      return a && b ? std::optional(*a * *b) : std::nullopt;
    }
    case ExprOp::kCast: return ir::is_float(node->dtype) ? kid(0) : std::nullopt;
    case ExprOp::kReduce: {
      const auto body = kid(3);
      return body == neutral_of(node->reduction) ? body : std::nullopt;
    }
    default: return std::nullopt;
  }
}

// Whether `room` is at - 0 or last - at.
bool is_room(const IndexForm& room, const IndexForm& at, std::int64_t last) {
  Sum sum = room.sum;
  if (room.moves == at.moves) {
    sum.add(at.sum, -1);
    return sum.is_constant() && sum.constant == 0;
  }
  sum.add(at.sum, 1);
  return room.moves == -at.moves && sum.is_constant() && sum.constant == last;
}

}  // namespace

HaloNeeds::HaloNeeds(std::span<const ir::TensorType> types)
    : types_(types), halos_(types.size()), decided_(types.size(), false) {}

void HaloNeeds::widen(std::size_t input, const Interval& local, std::int64_t block) {
  if (!local.within(-kFar + 1, kFar - 1)) return;
  Halo& halo = halos_[input];
  halo.before = std::max(halo.before, -local.low);
  halo.after = std::max(halo.after, local.high - (block - 1));
}

// Whether a bounds check can be replaced by the content of halo rows. The condition must test that
// a read of the body is inside the input (is_room()). Beyond the end, the body must then have the
// value `otherwise` if the rows there hold 0 or minus infinity.
bool HaloNeeds::stand_for(const ExprNode* condition, const ExprNode* body, double otherwise,
                          IndexForms& indices) {
  if (condition->op != ExprOp::kIndexLe) return false;
  const IndexForm room =
      difference_form(indices.of(condition->kids[1]), indices.of(condition->kids[0]));
  if (room.moves == 0) return false;
  for (const ExprNode* read : nodes_inside(body, ExprOp::kRead)) {
    const auto input = static_cast<std::size_t>(read->integer);
    for (std::size_t dim = 0; dim < read->kids.size(); ++dim) {
      const IndexForm at = indices.of(read->kids[dim]);
      const std::int64_t last = types_[input].dims[dim].constant() - 1;
      if (at.moves == 0 || !is_room(room, at, last)) continue;
      for (const Halo::Beyond beyond : {Halo::Beyond::kZero, Halo::Beyond::kMinusInfinity}) {
        const BeyondEnd end{read->integer, dim, at, Halo{.beyond = beyond}.value_beyond()};
        if (value_of(body, &end, &indices) != otherwise) continue;
        return decide_beyond(input, beyond);
      }
    }
  }
  return false;
}

// False where minus infinity is no value of the input, or something else is beyond it already.
bool HaloNeeds::decide_beyond(std::size_t input, Halo::Beyond beyond) {
  if (beyond != Halo::Beyond::kZero && !ir::is_float(types_[input].dtype)) return false;
  if (halos_[input].beyond != beyond && decided_[input]) return false;
  halos_[input].beyond = beyond;
  decided_[input] = true;
  return true;
}

std::optional<double> neutral_of(ir::Reduction reduction) {
  if (reduction == ir::Reduction::kSum) return 0;
  if (reduction == ir::Reduction::kMax) return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

std::optional<double> constant_value(const ExprNode* node) {
  return value_of(node, nullptr, nullptr);
}

}  // namespace egret::parallel
