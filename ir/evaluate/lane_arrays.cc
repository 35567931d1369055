// SPDX-License-Identifier: Apache-2.0
// Evaluation of nodes for many lanes at once.
#include <algorithm>
#include <string>
#include <type_traits>

#include "ir/evaluate/lane_evaluator.h"
#include "ir/evaluate/lane_loops.h"
#include "ir/evaluate/lane_memory.h"

namespace egret::ir {
namespace {

// Element `offset` of an array, where offset may be outside as long as it is not read.
// Integer arithmetic: a pointer outside of its array would be undefined behaviour even without a
// read.
template <typename T>
const T* element_pointer(const std::byte* data, std::int64_t offset) {
  const auto address =
      reinterpret_cast<std::uintptr_t>(data) + static_cast<std::uintptr_t>(offset) * sizeof(T);
  return reinterpret_cast<const T*>(address);
}

template <typename T>
constexpr DType kCarrier = std::is_same_v<T, double> ? DType::kF64 : DType::kI64;

}  // namespace

template <typename T>
LaneEvaluator::Operand<T> LaneEvaluator::operand(int node, const LaneSet& set) {
  if (plan_.lanes[static_cast<std::size_t>(node)] < 0) return {nullptr, number<T>(node)};
  return {lanes<T>(node, set), T{0}};
}

// The node's values for the lanes of a set, computed at most once per stamp. An array that was
// computed for a larger set serves a smaller one.
template <typename T>
const T* LaneEvaluator::lanes(int id, const LaneSet& set) {
  const auto i = static_cast<std::size_t>(id);
  const std::uint64_t stamp = stamps_[static_cast<std::size_t>(plan_.node_scopes[i])];
  if (covers(memos_[i], stamp, set)) return static_cast<const T*>(memos_[i].lanes);
  const T* result = compute_lanes<T>(id, nest_.node(id), set);
  memos_[i] = {stamp, set.low, set.high,
               set.slot < 0 ? 0 : masks_[static_cast<std::size_t>(set.slot)].id, result};
  return result;
}

template <typename T>
const T* LaneEvaluator::compute_lanes(int id, const NestNode& node, const LaneSet& set) {
  constexpr bool kReal = std::is_same_v<T, double>;
  switch (node.op) {
    case ExprOp::kRead: return read_lanes<T>(id, node, set);
    case ExprOp::kSelect: return select_lanes<T>(id, node, set);
    case ExprOp::kReduce: return reduce_lanes<T>(id, node, set);
    default: break;
  }
  T* out = buffer<T>(id);
  if (node.op == ExprOp::kCast) {
    cast_lanes(node, set, out);
    return out;
  }
  if (node.op == ExprOp::kScalarOf) {
    std::int64_t form[kLanes];
    form_lanes(node.form, plan_.lanes[static_cast<std::size_t>(id)], set, form);
    for (std::int64_t l = set.low; l < set.high; ++l) {
      out[l] = kReal ? static_cast<T>(form[l]) : static_cast<T>(wrap(node.type, form[l]));
    }
    return out;
  }
  const ElementOps<T> ops(node.type);
  const Operand<T> a = operand<T>(node.kids[0], set);
  const Operand<T> b =
      node.kids.size() > 1 ? operand<T>(node.kids[1], set) : Operand<T>{nullptr, 0};
  const auto apply = [&](const auto& f) { apply_lanes(a, b, set.low, set.high, out, f); };
  switch (node.op) {
    case ExprOp::kAdd: apply([](T x, T y) { return ElementOps<T>::add(x, y); }); break;
    case ExprOp::kSub: apply([](T x, T y) { return ElementOps<T>::sub(x, y); }); break;
    case ExprOp::kMul: apply([](T x, T y) { return ElementOps<T>::mul(x, y); }); break;
    case ExprOp::kMin: apply([ops](T x, T y) { return ops.min(x, y); }); break;
    case ExprOp::kMax: apply([ops](T x, T y) { return ops.max(x, y); }); break;
    case ExprOp::kNeg:
      if constexpr (kReal) {
        apply([](T x, T) { return -x; });
      } else {
        apply([](T x, T) { return ElementOps<T>::sub(0, x); });
      }
      break;
    case ExprOp::kDiv:
      if constexpr (kReal) {
        apply([](T x, T y) { return x / y; });
      } else {
        for (std::int64_t l = set.low; l < set.high; ++l) {
          // Inactive lanes hold arbitrary values: only an active one can fail.
          const T divisor = b.lanes != nullptr ? b.lanes[l] : b.value;
          if (divisor == 0 && set.has(l)) fail(base::bad_input("integer division by zero"));
          out[l] =
              divisor == 0
                  ? 0
                  : truncating_div(node.type, a.lanes != nullptr ? a.lanes[l] : a.value, divisor);
        }
      }
      break;
    case ExprOp::kCall:
      if constexpr (kReal) {
        apply(facts(node.function).f64);
      } else {
        apply([&](T x, T y) { return apply_integer(node.function, x, y); });
      }
      break;
    default: EGRET_CHECK(false, "not a scalar");
  }
  if (needs_wrapping(node.type)) {
    for (std::int64_t l = set.low; l < set.high; ++l) out[l] = ops.wrapped(out[l]);
  }
  return out;
}

template <typename T>
void LaneEvaluator::cast_lanes(const NestNode& node, const LaneSet& set, T* out) {
  const NestNode& from = nest_.node(node.kids[0]);
  const auto each = [&](const auto* in, const auto& convert) {
    for (std::int64_t l = set.low; l < set.high; ++l) out[l] = convert(in[l]);
  };
  if constexpr (std::is_same_v<T, double>) {
    if (from.is_real()) {
      each(lanes<double>(node.kids[0], set),
           [&](double v) { return round_real(node.cast, precision_, v); });
    } else {
      each(lanes<std::int64_t>(node.kids[0], set), [&](std::int64_t v) {
        return round_real(node.cast, precision_, integer_to_real(from.type, v));
      });
    }
  } else if (from.is_real()) {
    each(lanes<double>(node.kids[0], set), [&](double v) { return real_to_integer(node.type, v); });
  } else {
    each(lanes<std::int64_t>(node.kids[0], set),
         [&](std::int64_t v) { return wrap(node.type, v); });
  }
}

template <typename T>
const T* LaneEvaluator::read_lanes(int id, const NestNode& node, const LaneSet& set) {
  const int lane = plan_.lanes[static_cast<std::size_t>(id)];
  const Tensor& input = inputs_[static_cast<std::size_t>(node.input)];
  const std::byte* data = data_[static_cast<std::size_t>(node.input)];
  T* out = buffer<T>(id);
  std::int64_t offsets[kLanes];
  for (const auto& axis : node.checked) {
    form_lanes(axis.index, lane, set, offsets);
    for (std::int64_t l = set.low; l < set.high; ++l) {
      if (set.has(l) && !check_axis(offsets[l], axis)) return out;
    }
  }
  if (failed_) return out;

  const bool scattered = has_lane_symbols(node.form, lane);
  if (!scattered) {
    const std::int64_t base = base_of(node.form, lane);
    const std::int64_t stride = node.form.factor(lane);
    const std::int64_t first = base + stride * set.low;
    const std::int64_t last = base + stride * (set.high - 1);
    // An affine read: the ends of the interval bound all offsets, so one check suffices. Contiguous
    // reads of the evaluator's own type are returned in place, without a copy.
    if (std::min(first, last) >= 0 && std::max(first, last) < input.elements()) {
      if (stride == 1 && input.dtype() == kCarrier<T>) return element_pointer<T>(data, base);
      load_lanes(input.dtype(), data, first, stride, set.high - set.low, out + set.low);
      return out;
    }
  }
  form_lanes(node.form, lane, set, offsets);
  for (std::int64_t l = set.low; l < set.high; ++l) {
    if (!set.has(l) || (offsets[l] >= 0 && offsets[l] < input.elements())) continue;
    fail(base::internal_error("a definition reads outside of its input"));
    return out;
  }
  gather_lanes(input.dtype(), data, offsets + set.low,
               set.mask == nullptr ? nullptr : set.mask + set.low, set.high - set.low,
               out + set.low);
  return out;
}

template <typename T>
const T* LaneEvaluator::select_lanes(int id, const NestNode& node, const LaneSet& set) {
  const int lane = plan_.lanes[static_cast<std::size_t>(id)];
  // Masks form a stack: those that the arms take are free again at the end.
  const int masks = masks_used_;
  const LaneSet holds = where(node.guard, lane, set);
  T* out = buffer<T>(id);
  const auto copy = [&](int kid, const LaneSet& part) {
    if (part.empty()) return;
    const Operand<T> from = operand<T>(kid, part);
    for (std::int64_t l = part.low; l < part.high; ++l) {
      if (part.has(l)) out[l] = from.lanes != nullptr ? from.lanes[l] : from.value;
    }
  };
  copy(node.kids[0], holds);
  // Each arm is evaluated only for the lanes that choose it.
  copy(node.kids[1], difference(set, holds));
  masks_used_ = masks;
  return out;
}

// One accumulator per lane: the reduction's loops run outside, and each iteration adds an array.
template <typename T>
const T* LaneEvaluator::reduce_lanes(int id, const NestNode& node, const LaneSet& set) {
  const int lane = plan_.lanes[static_cast<std::size_t>(id)];
  T* sums = buffer<T>(id);
  const T identity = ElementOps<T>::identity(node.type, node.reduction);
  std::fill(sums + set.low, sums + set.high, identity);
  for_each_iteration(node, lane, [&] {
    const int masks = masks_used_;
    accumulate(node, sums, where(node.guard, lane, set));
    masks_used_ = masks;
  });
  return sums;
}

// Folds the body of a reduction into `into`, for the active lanes.
template <typename T>
void LaneEvaluator::accumulate(const NestNode& node, T* into, const LaneSet& set) {
  if (set.empty()) return;
  const ElementOps<T> ops(node.type);
  const NestNode& body = nest_.node(node.kids[0]);
  const bool body_varies = plan_.lanes[static_cast<std::size_t>(node.kids[0])] >= 0;
  // Sums of products without an intermediate array: the multiply and the add are one loop.
  if (std::is_same_v<T, double> && body.op == ExprOp::kMul && body_varies && set.mask == nullptr &&
      node.reduction == Reduction::kSum) {
    const Operand<T> a = operand<T>(body.kids[0], set);
    const Operand<T> b = operand<T>(body.kids[1], set);
    const Operand<T> x = a.lanes != nullptr ? a : b;
    const Operand<T> y = a.lanes != nullptr ? b : a;
    if (y.lanes == nullptr) {
      for (std::int64_t l = set.low; l < set.high; ++l) into[l] += x.lanes[l] * y.value;
    } else {
      for (std::int64_t l = set.low; l < set.high; ++l) into[l] += x.lanes[l] * y.lanes[l];
    }
    return;
  }
  const Operand<T> value = operand<T>(node.kids[0], set);
  const Operand<T> so_far{into, T{0}};
  with_fold(node.reduction, ops, [&](const auto& fold) {
    if (set.mask == nullptr) {
      apply_lanes(so_far, value, set.low, set.high, into, fold);
    } else {
      for (std::int64_t l = set.low; l < set.high; ++l) {
        if (set.has(l))
          into[l] = fold(into[l], value.lanes != nullptr ? value.lanes[l] : value.value);
      }
    }
  });
  if (needs_wrapping(node.type)) {
    for (std::int64_t l = set.low; l < set.high; ++l) into[l] = ops.wrapped(into[l]);
  }
}

template const double* LaneEvaluator::lanes<double>(int node, const LaneSet& set);
template const std::int64_t* LaneEvaluator::lanes<std::int64_t>(int node, const LaneSet& set);
template LaneEvaluator::Operand<double> LaneEvaluator::operand<double>(int, const LaneSet&);
template LaneEvaluator::Operand<std::int64_t> LaneEvaluator::operand<std::int64_t>(int,
                                                                                   const LaneSet&);
template void LaneEvaluator::accumulate<double>(const NestNode&, double*, const LaneSet&);
template void LaneEvaluator::accumulate<std::int64_t>(const NestNode&, std::int64_t*,
                                                      const LaneSet&);

}  // namespace egret::ir
