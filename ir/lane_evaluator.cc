// SPDX-License-Identifier: Apache-2.0
#include "ir/lane_evaluator.h"

#include <algorithm>
#include <type_traits>

#include "ir/lane_loops.h"
#include "ir/lane_memory.h"

namespace egret::ir {
namespace {

using Kind = IndexSymbol::Kind;
using G = NestGuard::Kind;

constexpr std::size_t kBufferBytes = kLanes * sizeof(std::int64_t);

template <typename T>
T* typed(std::unique_ptr<std::byte[]>& buffer) {
  if (buffer == nullptr) buffer = std::make_unique<std::byte[]>(kBufferBytes);
  return reinterpret_cast<T*>(buffer.get());
}

// Element `offset` of an array, where offset may be outside as long as it is not read.
template <typename T>
const T* element_pointer(const std::byte* data, std::int64_t offset) {
  const auto address =
      reinterpret_cast<std::uintptr_t>(data) + static_cast<std::uintptr_t>(offset) * sizeof(T);
  return reinterpret_cast<const T*>(address);
}

template <typename T>
constexpr DType kCarrier = std::is_same_v<T, double> ? DType::kF64 : DType::kI64;

}  // namespace

LaneEvaluator::LaneEvaluator(const LanePlan& plan, std::span<const Tensor> inputs,
                             Precision precision)
    : plan_(plan),
      nest_(plan.nest),
      inputs_(inputs),
      precision_(precision),
      values_(nest_.symbols.size(), 0),
      stamps_(nest_.variables.size() + 2, 1),
      memos_(nest_.nodes.size()),
      symbol_memos_(nest_.symbols.size()),
      reals_(nest_.nodes.size(), 0),
      integers_(nest_.nodes.size(), 0),
      symbol_numbers_(nest_.symbols.size(), 0),
      number_stamps_(nest_.nodes.size(), 0),
      symbol_stamps_(nest_.symbols.size(), 0),
      buffers_(nest_.nodes.size()),
      symbol_buffers_(nest_.symbols.size()) {
  for (const Tensor& input : inputs) data_.push_back(input.data().data());
}

// ---- The loops over output elements

namespace {

struct OutputLoop {
  int variable;  // symbol, or -1 for the blocks of lanes
  std::int64_t count;
};

std::vector<OutputLoop> output_loops(const LanePlan& plan) {
  std::vector<OutputLoop> loops;
  for (const int v : plan.loops) loops.push_back({v, plan.nest.extent(v)});
  if (plan.output_lane >= 0) {
    const std::int64_t blocks = (plan.nest.extent(plan.output_lane) + plan.block - 1) / plan.block;
    loops.insert(loops.begin() + static_cast<std::ptrdiff_t>(plan.chunks_before), {-1, blocks});
  }
  return loops;
}

}  // namespace

std::int64_t LaneEvaluator::steps(const LanePlan& plan) {
  std::int64_t count = 1;
  for (const OutputLoop& loop : output_loops(plan)) count *= loop.count;
  return count;
}

base::Status LaneEvaluator::run(std::int64_t begin, std::int64_t end, DType out_type,
                                std::byte* out) {
  return nest_.node(nest_.root).is_real() ? run_as<double>(begin, end, out_type, out)
                                          : run_as<std::int64_t>(begin, end, out_type, out);
}

template <typename T>
base::Status LaneEvaluator::run_as(std::int64_t begin, std::int64_t end, DType out_type,
                                   std::byte* out) {
  const std::vector<OutputLoop> loops = output_loops(plan_);
  std::vector<std::int64_t> at(loops.size(), 0);
  for (std::size_t i = loops.size(), rest = static_cast<std::size_t>(begin); i-- > 0;) {
    at[i] = static_cast<std::int64_t>(rest) % loops[i].count;
    rest /= static_cast<std::size_t>(loops[i].count);
  }
  const int lane = plan_.output_lane;
  const std::int64_t stride = lane >= 0 ? nest_.output.factor(lane) : 0;
  for (std::int64_t step = begin; step < end && !failed_; ++step) {
    std::int64_t count = 1;
    for (std::size_t i = 0; i < loops.size(); ++i) {
      const int variable = loops[i].variable >= 0 ? loops[i].variable : lane;
      std::int64_t& value = values_[static_cast<std::size_t>(variable)];
      value = loops[i].variable >= 0 ? at[i] : at[i] * plan_.block;
      if (loops[i].variable < 0) {
        count = std::min<std::int64_t>(plan_.block, nest_.extent(lane) - value);
      }
    }
    stamps_[kBlockScope] = ++tick_;
    masks_used_ = 0;
    const std::int64_t first = form_number(nest_.output);
    const LaneSet all{.low = 0, .high = count};
    if (lane >= 0 && plan_.lanes[static_cast<std::size_t>(nest_.root)] >= 0) {
      store_lanes(out_type, out, first, stride, count, lanes<T>(nest_.root, all));
    } else {
      const T value = number<T>(nest_.root);
      T* repeated = typed<T>(buffers_[static_cast<std::size_t>(nest_.root)]);
      std::fill(repeated, repeated + count, value);
      store_lanes(out_type, out, first, stride, count, static_cast<const T*>(repeated));
    }
    for (std::size_t i = loops.size(); i-- > 0;) {
      if (++at[i] < loops[i].count) break;
      at[i] = 0;
    }
  }
  return status_;
}

void LaneEvaluator::fail(base::Status status) {
  if (!failed_) status_ = std::move(status);
  failed_ = true;
}

void LaneEvaluator::assign(int variable, std::int64_t value) {
  values_[static_cast<std::size_t>(variable)] = value;
  const int ordinal = nest_.symbol(variable).ordinal;
  stamps_[static_cast<std::size_t>(scope_of_variable(ordinal))] = ++tick_;
}

bool LaneEvaluator::varies(VariableSet depends, int lane) const {
  return lane >= 0 && (depends & nest_.symbol(lane).depends) != 0;
}

template <typename Visit>
void LaneEvaluator::for_each_iteration(const NestNode& node, int lane, const Visit& visit) {
  base::SmallVector<int, 8> loops;
  for (const int v : node.variables) {
    if (v != lane) loops.push_back(v);
  }
  for (const int v : loops) assign(v, 0);
  while (!failed_) {
    visit();
    std::size_t i = loops.size();
    for (; i-- > 0;) {
      const std::int64_t next = values_[static_cast<std::size_t>(loops[i])] + 1;
      if (next < nest_.extent(loops[i])) {
        assign(loops[i], next);
        break;
      }
      assign(loops[i], 0);
    }
    if (i == static_cast<std::size_t>(-1)) return;
  }
}

// ---- Indices

std::int64_t LaneEvaluator::form_number(const Affine& form) {
  std::int64_t sum = form.constant;
  for (const auto& part : form.parts) {
    const std::int64_t value = nest_.symbol(part.symbol).kind == Kind::kVariable
                                   ? values_[static_cast<std::size_t>(part.symbol)]
                                   : symbol_number(part.symbol);
    sum = wrapping_add(sum, wrapping_mul(value, part.factor));
  }
  return sum;
}

std::int64_t LaneEvaluator::base_of(const Affine& form, int lane) {
  std::int64_t sum = form.constant;
  for (const auto& part : form.parts) {
    const IndexSymbol& symbol = nest_.symbol(part.symbol);
    if (symbol.kind == Kind::kVariable) {
      sum = wrapping_add(sum,
                         wrapping_mul(values_[static_cast<std::size_t>(part.symbol)], part.factor));
    } else if (!varies(symbol.depends, lane)) {
      sum = wrapping_add(sum, wrapping_mul(symbol_number(part.symbol), part.factor));
    }
  }
  return sum;
}

bool LaneEvaluator::has_lane_symbols(const Affine& form, int lane) const {
  return std::ranges::any_of(form.parts, [&](const auto& part) {
    const IndexSymbol& symbol = nest_.symbol(part.symbol);
    return symbol.kind != Kind::kVariable && varies(symbol.depends, lane);
  });
}

namespace {

// The operation of an index symbol; false when it divides by what is not positive.
bool apply_index(Kind kind, std::int64_t a, std::int64_t b, std::int64_t& result) {
  switch (kind) {
    case Kind::kMul: result = wrapping_mul(a, b); return true;
    case Kind::kMin: result = std::min(a, b); return true;
    case Kind::kMax: result = std::max(a, b); return true;
    case Kind::kDiv:
    case Kind::kMod:
      result = 0;
      if (b <= 0) return false;
      result = euclidean_div(a, b);
      if (kind == Kind::kMod) result = a - result * b;
      return true;
    default: break;
  }
  EGRET_CHECK(false, "not an operation on indices");
  return false;
}

base::Status division_by(std::int64_t divisor) {
  return base::bad_input("an index is divided by " + std::to_string(divisor));
}

}  // namespace

std::int64_t LaneEvaluator::symbol_number(int id) {
  const auto i = static_cast<std::size_t>(id);
  const std::uint64_t stamp = stamps_[static_cast<std::size_t>(plan_.symbol_scopes[i])];
  if (symbol_stamps_[i] == stamp) return symbol_numbers_[i];
  const IndexSymbol& symbol = nest_.symbol(id);
  std::int64_t result = 0;
  if (symbol.kind == Kind::kElement) {
    result = nest_.node(symbol.element).is_real()
                 ? real_to_integer(DType::kI64, number<double>(symbol.element))
                 : number<std::int64_t>(symbol.element);
  } else {
    const std::int64_t b = form_number(symbol.b);
    if (!apply_index(symbol.kind, form_number(symbol.a), b, result)) fail(division_by(b));
  }
  symbol_stamps_[i] = stamp;
  symbol_numbers_[i] = result;
  return result;
}

void LaneEvaluator::form_lanes(const Affine& form, int lane, const LaneSet& set,
                               std::int64_t* out) {
  const std::int64_t base = base_of(form, lane);
  const std::int64_t step = form.factor(lane);
  for (std::int64_t l = set.low; l < set.high; ++l) {
    out[l] = wrapping_add(base, wrapping_mul(step, l));
  }
  for (const auto& part : form.parts) {
    const IndexSymbol& symbol = nest_.symbol(part.symbol);
    if (symbol.kind == Kind::kVariable || !varies(symbol.depends, lane)) continue;
    const std::int64_t* values = symbol_lanes(part.symbol, lane, set);
    for (std::int64_t l = set.low; l < set.high; ++l) {
      out[l] = wrapping_add(out[l], wrapping_mul(values[l], part.factor));
    }
  }
}

const std::int64_t* LaneEvaluator::symbol_lanes(int id, int lane, const LaneSet& set) {
  const auto i = static_cast<std::size_t>(id);
  const std::uint64_t stamp = stamps_[static_cast<std::size_t>(plan_.symbol_scopes[i])];
  if (covers(symbol_memos_[i], stamp, set)) {
    return static_cast<const std::int64_t*>(symbol_memos_[i].lanes);
  }
  const IndexSymbol& symbol = nest_.symbol(id);
  const std::int64_t* result = nullptr;
  if (symbol.kind == Kind::kElement && !nest_.node(symbol.element).is_real()) {
    result = lanes<std::int64_t>(symbol.element, set);
  } else {
    auto* out = typed<std::int64_t>(symbol_buffers_[i]);
    if (symbol.kind == Kind::kElement) {
      const double* from = lanes<double>(symbol.element, set);
      for (std::int64_t l = set.low; l < set.high; ++l) {
        out[l] = real_to_integer(DType::kI64, from[l]);
      }
    } else {
      std::int64_t a[kLanes];
      std::int64_t b[kLanes];
      form_lanes(symbol.a, lane, set, a);
      form_lanes(symbol.b, lane, set, b);
      for (std::int64_t l = set.low; l < set.high; ++l) {
        if (!apply_index(symbol.kind, a[l], b[l], out[l]) && set.has(l)) fail(division_by(b[l]));
      }
    }
    result = out;
  }
  symbol_memos_[i] = {stamp, set.low, set.high,
                      set.slot < 0 ? 0 : masks_[static_cast<std::size_t>(set.slot)].id, result};
  return result;
}

bool LaneEvaluator::check_axis(std::int64_t at, const NestNode::CheckedAxis& axis) {
  if (at >= 0 && at < axis.size) return true;
  fail(base::bad_input("index " + std::to_string(at) + " is outside of axis " +
                       std::to_string(axis.axis) + " of size " + std::to_string(axis.size)));
  return false;
}

// ---- Sets of lanes

bool LaneEvaluator::covers(const Memo& memo, std::uint64_t stamp, const LaneSet& set) const {
  if (memo.stamp != stamp || memo.low > set.low || memo.high < set.high) return false;
  if (memo.mask_id == 0) return true;
  for (int slot = set.slot; slot >= 0; slot = masks_[static_cast<std::size_t>(slot)].parent) {
    if (masks_[static_cast<std::size_t>(slot)].id == memo.mask_id) return true;
  }
  return false;
}

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
  if (kept == high - low) return {.low = low, .high = high};  // an interval
  mask.id = ++tick_;
  mask.parent = set.slot;
  return {.low = low, .high = high, .mask = mask.lanes.get(), .slot = masks_used_++};
}

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
  // base + step * l against 0.
  const std::int64_t step = guard.form.factor(lane);
  const std::int64_t base = base_of(guard.form, lane);
  if (guard.kind == G::kEq) {
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

// ---- Numbers

template <typename T>
T LaneEvaluator::number(int id) {
  const auto i = static_cast<std::size_t>(id);
  auto& numbers = [&]() -> std::vector<T>& {
    if constexpr (std::is_same_v<T, double>) {
      return reals_;
    } else {
      return integers_;
    }
  }();
  const std::uint64_t stamp = stamps_[static_cast<std::size_t>(plan_.node_scopes[i])];
  if (number_stamps_[i] == stamp) return numbers[i];
  const NestNode& node = nest_.node(id);
  const T result =
      node.op == ExprOp::kReduce ? reduce_to_number<T>(id, node) : compute_number<T>(node);
  number_stamps_[i] = stamp;
  numbers[i] = result;
  return result;
}

template <typename T>
T LaneEvaluator::compute_number(const NestNode& node) {
  constexpr bool kReal = std::is_same_v<T, double>;
  const ElementOps<T> ops(node.type);
  const auto kid = [&](std::size_t i) { return number<T>(node.kids[i]); };
  switch (node.op) {
    case ExprOp::kConst:
      if constexpr (kReal) return node.real;
      return static_cast<T>(node.integer);
    case ExprOp::kScalarOf: return ops.wrapped(static_cast<T>(form_number(node.form)));
    case ExprOp::kRead: {
      for (const auto& axis : node.checked) {
        if (!check_axis(form_number(axis.index), axis)) return 0;
      }
      const std::int64_t offset = form_number(node.form);
      const Tensor& input = inputs_[static_cast<std::size_t>(node.input)];
      if (failed_) return 0;
      if (offset < 0 || offset >= input.elements()) {
        fail(base::internal_error("a definition reads outside of its input"));
        return 0;
      }
      T value;
      load_lanes(input.dtype(), data_[static_cast<std::size_t>(node.input)], offset, 1, 1, &value);
      return value;
    }
    case ExprOp::kAdd: return ops.wrapped(ops.add(kid(0), kid(1)));
    case ExprOp::kSub: return ops.wrapped(ops.sub(kid(0), kid(1)));
    case ExprOp::kMul: return ops.wrapped(ops.mul(kid(0), kid(1)));
    case ExprOp::kNeg:
      if constexpr (kReal) return -kid(0);
      return ops.wrapped(ops.sub(0, kid(0)));
    case ExprOp::kMin: return ops.min(kid(0), kid(1));
    case ExprOp::kMax: return ops.max(kid(0), kid(1));
    case ExprOp::kDiv: {
      const T a = kid(0);
      const T b = kid(1);
      if constexpr (kReal) return a / b;
      if (b == 0) {
        fail(base::bad_input("integer division by zero"));
        return 0;
      }
      return ops.wrapped(static_cast<T>(
          truncating_div(node.type, static_cast<std::int64_t>(a), static_cast<std::int64_t>(b))));
    }
    case ExprOp::kCall: {
      const T a = kid(0);
      const T b = node.kids.size() > 1 ? kid(1) : T{0};
      if constexpr (kReal) return facts(node.function).f64(a, b);
      return ops.wrapped(static_cast<T>(apply_integer(node.function, static_cast<std::int64_t>(a),
                                                      static_cast<std::int64_t>(b))));
    }
    case ExprOp::kSelect: return number<T>(node.kids[guard_number(node.guard) ? 0 : 1]);
    case ExprOp::kCast: {
      const NestNode& from = nest_.node(node.kids[0]);
      if constexpr (kReal) {
        return round_real(node.cast, precision_,
                          from.is_real()
                              ? number<double>(node.kids[0])
                              : integer_to_real(from.type, number<std::int64_t>(node.kids[0])));
      } else {
        return from.is_real() ? real_to_integer(node.type, number<double>(node.kids[0]))
                              : wrap(node.type, number<std::int64_t>(node.kids[0]));
      }
    }
    default: break;
  }
  EGRET_CHECK(false, "not a scalar");
  return 0;
}

template <typename T>
T LaneEvaluator::reduce_to_number(int id, const NestNode& node) {
  const ElementOps<T> ops(node.type);
  const T identity = ElementOps<T>::identity(node.type, node.reduction);
  T result = identity;
  const int lane = plan_.reduction_lanes[static_cast<std::size_t>(id)];
  if (lane < 0) {
    for_each_iteration(node, -1, [&] {
      if (!guard_number(node.guard)) return;
      const T value = number<T>(node.kids[0]);
      with_fold(node.reduction, ops, [&](const auto& fold) { result = fold(result, value); });
    });
    return ops.wrapped(result);
  }
  const std::int64_t extent = nest_.extent(lane);
  const std::int64_t width = std::min<std::int64_t>(extent, kLanes);
  T* sums = typed<T>(buffers_[static_cast<std::size_t>(id)]);
  std::fill(sums, sums + width, identity);
  for_each_iteration(node, lane, [&] {
    for (std::int64_t start = 0; start < extent && !failed_; start += kLanes) {
      assign(lane, start);
      const LaneSet all{.low = 0, .high = std::min<std::int64_t>(kLanes, extent - start)};
      const int masks = masks_used_;
      accumulate(node, sums, where(node.guard, lane, all));
      masks_used_ = masks;
    }
  });
  with_fold(node.reduction, ops, [&](const auto& fold) {
    for (std::int64_t l = 0; l < width; ++l) result = fold(result, sums[l]);
  });
  return ops.wrapped(result);
}

// ---- Arrays

template <typename T>
T* LaneEvaluator::buffer(int node) {
  return typed<T>(buffers_[static_cast<std::size_t>(node)]);
}

template <typename T>
LaneEvaluator::Operand<T> LaneEvaluator::operand(int node, const LaneSet& set) {
  if (plan_.lanes[static_cast<std::size_t>(node)] < 0) return {nullptr, number<T>(node)};
  return {lanes<T>(node, set), T{0}};
}

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
  copy(node.kids[1], difference(set, holds));
  masks_used_ = masks;
  return out;
}

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

}  // namespace egret::ir
