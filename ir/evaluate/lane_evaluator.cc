// SPDX-License-Identifier: Apache-2.0
#include "ir/evaluate/lane_evaluator.h"

#include <algorithm>
#include <type_traits>

#include "ir/evaluate/lane_loops.h"
#include "ir/evaluate/lane_memory.h"

namespace egret::ir {
namespace {

using Kind = IndexSymbol::Kind;

}  // namespace

// Values are cached with a stamp: that of the innermost variable on which they depend
// (plan.*_scopes). Assigning a variable takes a new stamp, which invalidates all values in its
// scope at once.
LaneEvaluator::LaneEvaluator(const LaneProgram& plan, std::span<const Tensor> inputs,
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

// Steps number the iterations of the output loops in row-major order. A range of steps is the unit
// of parallel work: run_as() decodes `begin` and then counts like an odometer.
struct OutputLoop {
  int variable;  // symbol, or -1 for the blocks of lanes
  std::int64_t count;
};

std::vector<OutputLoop> output_loops(const LaneProgram& plan) {
  std::vector<OutputLoop> loops;
  for (const int v : plan.loops) loops.push_back({v, plan.nest.extent(v)});
  if (plan.output_lane >= 0) {
    const std::int64_t blocks = (plan.nest.extent(plan.output_lane) + plan.block - 1) / plan.block;
    loops.insert(loops.begin() + static_cast<std::ptrdiff_t>(plan.chunks_before), {-1, blocks});
  }
  return loops;
}

}  // namespace

std::int64_t LaneEvaluator::steps(const LaneProgram& plan) {
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
      // The loop over blocks of lanes assigns the lane's first value. The last block may be
      // shorter.
      const int variable = loops[i].variable >= 0 ? loops[i].variable : lane;
      std::int64_t& value = values_[static_cast<std::size_t>(variable)];
      value = loops[i].variable >= 0 ? at[i] : at[i] * plan_.block;
      if (loops[i].variable < 0) {
        count = std::min<std::int64_t>(plan_.block, nest_.extent(lane) - value);
      }
    }
    // A new stamp invalidates everything that depends on an output variable.
    stamps_[kBlockScope] = ++tick_;
    masks_used_ = 0;
    const std::int64_t first = form_number(nest_.output);
    const LaneSet all{.low = 0, .high = count};
    if (lane >= 0 && plan_.lanes[static_cast<std::size_t>(nest_.root)] >= 0) {
      store_lanes(out_type, out, first, stride, count, lanes<T>(nest_.root, all));
    } else {
      const T value = number<T>(nest_.root);
      // The root does not depend on the lane: one number fills the block.
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

// Keeps the first failure. Evaluation goes on with arbitrary values until the loops notice it.
void LaneEvaluator::fail(base::Status status) {
  if (!failed_) status_ = std::move(status);
  failed_ = true;
}

// tick_ only grows, so a stamp is never used twice and stale values cannot look valid.
void LaneEvaluator::assign(int variable, std::int64_t value) {
  values_[static_cast<std::size_t>(variable)] = value;
  const int ordinal = nest_.symbol(variable).ordinal;
  stamps_[static_cast<std::size_t>(scope_of_variable(ordinal))] = ++tick_;
}

bool LaneEvaluator::varies(VariableSet depends, int lane) const {
  return lane >= 0 && (depends & nest_.symbol(lane).depends) != 0;
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

// The lane's variable itself is included: values_ holds its value at lane 0.
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
  // Still valid: no variable that the symbol depends on has changed.
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

// An affine form over the lanes: base + step * l, plus the symbols that are not affine in the lane.
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

// Lanes outside of the set may divide by zero: only a failure in a lane of the set counts.
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
      if constexpr (kReal) {  // the usual types, without a call
        if (input.dtype() == DType::kF64)
          return input.as<double>()[static_cast<std::size_t>(offset)];
        if (input.dtype() == DType::kF32)
          return input.as<float>()[static_cast<std::size_t>(offset)];
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
  // Lane l accumulates the elements l, l + kLanes, ...: independent partial results, folded at the
  // end.
  T* sums = typed<T>(buffers_[static_cast<std::size_t>(id)]);
  std::fill(sums, sums + width, identity);
  for_each_iteration(node, lane, [&] {
    for (std::int64_t start = 0; start < extent && !failed_; start += kLanes) {
      assign(lane, start);
      const LaneSet all{.low = 0, .high = std::min<std::int64_t>(kLanes, extent - start)};
      // Masks made in this iteration are released after it: masks_ works as a stack.
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

template double LaneEvaluator::number<double>(int node);
template std::int64_t LaneEvaluator::number<std::int64_t>(int node);

}  // namespace egret::ir
