// SPDX-License-Identifier: Apache-2.0
// Sets of lanes, and the guards that narrow them.
#include <algorithm>

#include "ir/evaluate/lane_evaluator.h"
#include "ir/evaluate/lane_loops.h"

namespace egret::ir {
namespace {

using G = NestGuard::Kind;

}  // namespace

// An array serves a set that is contained in the one it was computed for: a sub-interval, with the
// same mask or one cut from it.
bool LaneEvaluator::covers(const Memo& memo, std::uint64_t stamp, const LaneSet& set) const {
  if (memo.stamp != stamp || memo.low > set.low || memo.high < set.high) return false;
  if (memo.mask_id == 0) return true;
  for (int slot = set.slot; slot >= 0; slot = masks_[static_cast<std::size_t>(slot)].parent) {
    if (masks_[static_cast<std::size_t>(slot)].id == memo.mask_id) return true;
  }
  return false;
}

// The lanes of a set that pass a test, as an interval if they are one and as a mask otherwise.
template <typename Keep>
LaneEvaluator::LaneSet LaneEvaluator::filtered(const LaneSet& set, const Keep& keep) {
  if (masks_used_ == static_cast<int>(masks_.size())) {
    masks_.push_back({std::make_unique<std::uint8_t[]>(kLanes), 0, -1});
  }
  Mask& mask = masks_[static_cast<std::size_t>(masks_used_)];
  std::int64_t low = set.high;
  std::int64_t high = set.low;
  std::int64_t kept = 0;
  for (std::int64_t l = set.low; l < set.high; ++l) {
    const bool in = set.has(l) && keep(l);
    mask.lanes[static_cast<std::size_t>(l)] = in ? 1 : 0;
    if (!in) continue;
    low = std::min(low, l);
    high = l + 1;
    ++kept;
  }
  if (kept == 0) return {.low = set.low, .high = set.low};
  // Prefer intervals: they need no mask in later operations.
  if (kept == high - low) return {.low = low, .high = high};  // an interval
  // A new identity for each filling of the buffer, so that memos of earlier fillings do not match.
  mask.id = ++tick_;
  mask.parent = set.slot;
  return {.low = low, .high = high, .mask = mask.lanes.get(), .slot = masks_used_++};
}

// Taking an interval's beginning or end away leaves an interval, with the same mask.
LaneEvaluator::LaneSet LaneEvaluator::difference(const LaneSet& set, const LaneSet& part) {
  if (part.empty()) return set;
  if (part.slot == set.slot) {  // an interval of it
    if (part.low <= set.low) return {part.high, set.high, set.mask, set.slot};
    if (part.high >= set.high) return {set.low, part.low, set.mask, set.slot};
  }
  return filtered(set,
                  [&](std::int64_t l) { return l < part.low || l >= part.high || !part.has(l); });
}

// The lanes of `set` where the guard holds.
LaneEvaluator::LaneSet LaneEvaluator::where(int id, int lane, const LaneSet& set) {
  if (set.empty()) return set;
  const NestGuard& guard = nest_.guard(id);
  LaneSet part = set;
  if (!varies(guard.depends, lane)) {
    if (!guard_number(id)) part.high = part.low;
    return part;
  }
  if (guard.kind == G::kAnd) return where(guard.b, lane, where(guard.a, lane, set));
  if ((guard.kind != G::kLe && guard.kind != G::kEq) || has_lane_symbols(guard.form, lane)) {
    return masked(id, lane, set);
  }
  // An affine guard holds on an interval of lanes: two divisions replace a test per lane.
  // base + step * l against 0.
  const std::int64_t step = guard.form.factor(lane);
  const std::int64_t base = base_of(guard.form, lane);
  if (guard.kind == G::kEq) {
    // One lane at most: l with base + step * l = 0.
    const std::int64_t l = -base / step;
    part.low = std::max(part.low, l);
    part.high = std::min(part.high, l + 1);
    if (base % step != 0) part.high = part.low;
  } else if (step > 0) {
    part.high = std::min(part.high, euclidean_div(-base, step) + 1);
  } else {
    part.low = std::max(part.low, -euclidean_div(-base, -step));
  }
  if (part.low > part.high) part.high = part.low;
  return part;
}

// Guards that cannot narrow the interval are evaluated lane by lane into a mask.
LaneEvaluator::LaneSet LaneEvaluator::masked(int id, int lane, const LaneSet& set) {
  const NestGuard& guard = nest_.guard(id);
  switch (guard.kind) {
    case G::kLe:
    case G::kEq: {
      std::int64_t form[kLanes];
      form_lanes(guard.form, lane, set, form);
      const bool equal = guard.kind == G::kEq;
      return filtered(set, [&](std::int64_t l) { return equal ? form[l] == 0 : form[l] <= 0; });
    }
    case G::kNot: return difference(set, where(guard.a, lane, set));
    case G::kOr: {
      const LaneSet first = where(guard.a, lane, set);
      // Evaluate b only where a fails: b may be undefined elsewhere.
      const LaneSet rest = difference(set, first);
      const LaneSet second = where(guard.b, lane, rest);
      if (second.empty()) return first;
      const auto in = [](const LaneSet& s, std::int64_t l) {
        return l >= s.low && l < s.high && s.has(l);
      };
      return filtered(set, [&](std::int64_t l) { return in(first, l) || in(second, l); });
    }
    default: break;
  }
  return nest_.node(guard.a).is_real() ? compared<double>(guard, set)
                                       : compared<std::int64_t>(guard, set);
}

template <typename T>
LaneEvaluator::LaneSet LaneEvaluator::compared(const NestGuard& guard, const LaneSet& set) {
  const ElementOps<T> ops(nest_.node(guard.a).type);
  const Operand<T> a = operand<T>(guard.a, set);
  const Operand<T> b = operand<T>(guard.b, set);
  std::uint8_t holds[kLanes];
  switch (guard.kind) {
    case G::kScalarLt:
      apply_lanes(a, b, set.low, set.high, holds, [&](T x, T y) { return ops.less(x, y); });
      break;
    case G::kScalarLe:
      apply_lanes(a, b, set.low, set.high, holds, [&](T x, T y) { return ops.less_equal(x, y); });
      break;
    default: apply_lanes(a, b, set.low, set.high, holds, [](T x, T y) { return x == y; }); break;
  }
  // Lanes outside of the set were compared too; filtered() drops them.
  return filtered(set, [&](std::int64_t l) { return holds[l] != 0; });
}

bool LaneEvaluator::guard_number(int id) {
  const NestGuard& guard = nest_.guard(id);
  switch (guard.kind) {
    case G::kTrue: return true;
    case G::kFalse: return false;
    case G::kLe: return form_number(guard.form) <= 0;
    case G::kEq: return form_number(guard.form) == 0;
    case G::kAnd: return guard_number(guard.a) && guard_number(guard.b);
    case G::kOr: return guard_number(guard.a) || guard_number(guard.b);
    case G::kNot: return !guard_number(guard.a);
    default: break;
  }
  const auto compare = [&](const auto& ops, auto a, auto b) {
    if (guard.kind == G::kScalarLt) return ops.less(a, b);
    return guard.kind == G::kScalarLe ? ops.less_equal(a, b) : a == b;
  };
  const DType type = nest_.node(guard.a).type;
  if (type == DType::kF64) {
    return compare(ElementOps<double>(type), number<double>(guard.a), number<double>(guard.b));
  }
  return compare(ElementOps<std::int64_t>(type), number<std::int64_t>(guard.a),
                 number<std::int64_t>(guard.b));
}

}  // namespace egret::ir
