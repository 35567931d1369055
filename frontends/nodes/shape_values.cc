// SPDX-License-Identifier: Apache-2.0
#include "frontends/nodes/shape_values.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "ir/core/index_arithmetic.h"
#include "ir/core/symbolic_scope.h"
#include "ir/graph/onnx_binding.h"
#include "ir/graph/operator.h"

namespace egret::frontends {
namespace {

using ir::ExprNode;
using ir::ExprOp;
using ir::Index;
using ir::SizeRatio;

constexpr std::int64_t kMostElements = 64;

bool holds_integers(ir::DType dtype) {
  return dtype == ir::DType::kI64 || dtype == ir::DType::kI32 || dtype == ir::DType::kBool;
}

bool is_power_of_two(std::int64_t value) { return (value & (value - 1)) == 0; }

bool may_hold_sizes(const ir::TensorType& type) {
  return (holds_integers(type.dtype) || ir::is_float(type.dtype)) && type.is_concrete() &&
         type.elements() <= kMostElements;
}

// Whether a floating-point number does not hold it exactly.
bool is_rounded(const SizeRatio& value) { return !is_power_of_two(value.under); }

SizeRatio reduced(Index over, std::int64_t under) {
  // A factor of a product is its second operand, if it is a number.
  const bool scaled = !over.is_constant() && over.node()->op == ExprOp::kIndexMul &&
                      over.node()->kids[1]->op == ExprOp::kIndexConst;
  const std::int64_t factor = over.is_constant() ? over.constant()
                              : scaled           ? over.node()->kids[1]->integer
                                                 : 1;
  const std::int64_t common = std::gcd(factor, under);
  return common <= 1 ? SizeRatio{over, under} : SizeRatio{ir::div(over, common), under / common};
}

std::optional<SizeRatio> number(double value) {
  constexpr int kMostBits = 40;
  if (!(std::abs(value) <= 0x1p53)) return std::nullopt;
  for (int bits = 0; bits <= kMostBits; ++bits) {
    const double over = std::ldexp(value, bits);
    if (std::abs(over) > 0x1p53) return std::nullopt;
    if (over == std::trunc(over))
      return SizeRatio{static_cast<std::int64_t>(over), std::int64_t{1} << bits};
  }
  return std::nullopt;
}

bool holds(ir::Guard guard) { return ir::decided(guard).value_or(false); }

// a - (a div c) * c is a remainder, which a model states so, or as Mod is defined.
std::optional<Index> remainder(Index a, Index b) {
  const auto is = [](const ExprNode* node, ExprOp op) { return node != nullptr && node->op == op; };
  if (!is(b.node(), ExprOp::kIndexMul) || !is(b.node()->kids[0], ExprOp::kIndexDiv))
    return std::nullopt;
  const Index factor(b.node()->kids[1]);
  const Index whole(b.node()->kids[0]->kids[0]);
  const Index divisor(b.node()->kids[0]->kids[1]);
  if (!factor.is_constant() || !divisor.is_constant() || !whole.same(a) ||
      divisor.constant() != -factor.constant())
    return std::nullopt;
  return ir::mod(a, divisor);
}

SizeRatio sum(const SizeRatio& a, const SizeRatio& b) {
  if (a.under == 1 && b.under == 1) {
    if (const auto rest = remainder(a.over, b.over)) return {*rest, 1};
  }
  const std::int64_t common = std::lcm(a.under, b.under);
  return reduced(a.over * (common / a.under) + b.over * (common / b.under), common);
}

// Whether no size has a large factor: the bound within which a real product is exact is then far.
bool has_small_factors(const SizeRatio& a, const SizeRatio& b) {
  constexpr std::int64_t kLargestFactor = 64;
  const auto is_large = [](const SizeRatio& factor, const SizeRatio& size) {
    return factor.over.is_constant() && !size.over.is_constant() &&
           std::abs(factor.over.constant()) > kLargestFactor;
  };
  return !is_large(a, b) && !is_large(b, a);
}

std::optional<SizeRatio> product(const SizeRatio& a, const SizeRatio& b) {
  std::int64_t under = 0;
  if (__builtin_mul_overflow(a.under, b.under, &under) || under > std::int64_t{1} << 40)
    return std::nullopt;
  return reduced(a.over * b.over, under);
}

std::optional<SizeRatio> real_quotient(const SizeRatio& a, const SizeRatio& b) {
  if (b.over.is_constant()) {
    const std::int64_t divisor = b.over.constant();
    if (divisor == 0 || std::abs(divisor) > std::int64_t{1} << 40) return std::nullopt;
    const std::int64_t sign = divisor < 0 ? -1 : 1;
    return product(a, {sign * b.under, sign * divisor});
  }
  // Of two sizes, if it is a number or a size whatever they are.
  const Index over[] = {a.over, b.under};
  const Index under[] = {b.over, a.under};
  const ir::Quotient all = ir::cancelled_quotient(over, under);
  return holds(b.over >= 1) && holds(all.exact) ? std::optional(SizeRatio{all.value, 1})
                                                : std::nullopt;
}

// One element of a definition, with numbers for its variables and sizes for the elements it reads.
// A value of nullopt: not a size, or it depends on which sizes are given.
class ElementOfSizes {
 public:
  using Read = std::function<std::optional<SizeRatio>(std::size_t input,
                                                      const std::vector<std::int64_t>& at)>;
  // `real`: the elements that it reads are real numbers.
  ElementOfSizes(Read read, bool real) : read_(std::move(read)), real_(real) {}

  void bind(Index variable, std::int64_t value) { variables_[variable.node()] = value; }

  std::optional<SizeRatio> scalar(const ExprNode& n) {
    switch (n.op) {
      case ExprOp::kConst: return number(n.real);
      case ExprOp::kRead: return read(n);
      case ExprOp::kAdd: return both(n, [](auto a, auto b) { return std::optional(sum(a, b)); });
      case ExprOp::kSub:
        return both(n, [](auto a, auto b) {
          return std::optional(sum(a, {Index(0) - b.over, b.under}));
        });
      case ExprOp::kMul:
        return both(n, [&](const SizeRatio& a, const SizeRatio& b) {
          return real_ && !has_small_factors(a, b) ? std::nullopt : product(a, b);
        });
      case ExprOp::kMin: return extremum(n, [](Index a, Index b) { return ir::min(a, b); });
      case ExprOp::kMax: return extremum(n, [](Index a, Index b) { return ir::max(a, b); });
      case ExprOp::kDiv: return real_ ? both(n, real_quotient) : quotient(n);
      case ExprOp::kNeg: {
        const auto a = scalar(*n.kids[0]);
        return a ? std::optional(SizeRatio{Index(0) - a->over, a->under}) : std::nullopt;
      }
      case ExprOp::kSelect: {
        const auto condition = guard(*n.kids[0]);
        return condition ? scalar(*n.kids[*condition ? 1 : 2]) : std::nullopt;
      }
      case ExprOp::kScalarOf: return ratio(index(*n.kids[0]));
      case ExprOp::kCast: return cast(n);
      case ExprOp::kCall: return rounding(n);
      case ExprOp::kReduce: return reduction(n);
      default: return std::nullopt;
    }
  }

 private:
  static std::optional<SizeRatio> ratio(const std::optional<Index>& value) {
    return value ? std::optional(SizeRatio{*value, 1}) : std::nullopt;
  }

  template <typename Combine>
  std::optional<SizeRatio> both(const ExprNode& n, Combine combine) {
    const auto a = scalar(*n.kids[0]);
    const auto b = scalar(*n.kids[1]);
    if (!a || !b || is_rounded(*a) || is_rounded(*b)) return std::nullopt;
    return combine(*a, *b);
  }

  template <typename Combine>
  std::optional<SizeRatio> extremum(const ExprNode& n, Combine combine) {
    return both(n, [&](const SizeRatio& a, const SizeRatio& b) {
      const std::int64_t common = std::max(a.under, b.under);  // powers of two
      return std::optional(
          reduced(combine(a.over * (common / a.under), b.over * (common / b.under)), common));
    });
  }

  // Truncated; as Euclidean division where neither operand is negative.
  std::optional<SizeRatio> quotient(const ExprNode& n) {
    const auto a = scalar(*n.kids[0]);
    const auto b = scalar(*n.kids[1]);
    if (!a || !b || !holds(a->over >= 0) || !holds(b->over >= 1)) return std::nullopt;
    return SizeRatio{ir::div(a->over, b->over), 1};
  }

  // Integers cut the fraction off; what reals hold is a matter of the whole element.
  std::optional<SizeRatio> cast(const ExprNode& n) {
    const auto a = scalar(*n.kids[0]);
    if (!a || a->under == 1) return a;
    if (ir::is_float(n.dtype)) return is_rounded(*a) ? std::nullopt : a;
    if (!holds_integers(n.dtype) || n.dtype == ir::DType::kBool || !holds(a->over >= 0))
      return std::nullopt;
    return SizeRatio{ir::div(a->over, a->under), 1};
  }

  std::optional<SizeRatio> rounding(const ExprNode& n) {
    const bool up = n.function == ir::Function::kCeil;
    if (!up && n.function != ir::Function::kFloor) return std::nullopt;
    const auto a = scalar(*n.kids[0]);
    if (!a) return std::nullopt;
    return SizeRatio{up ? ir::ceil_div(a->over, a->under) : ir::div(a->over, a->under), 1};
  }

  std::optional<SizeRatio> read(const ExprNode& n) {
    std::vector<std::int64_t> at;
    for (const ExprNode* kid : n.kids) {
      const auto one = index(*kid);
      if (!one || !one->is_constant()) return std::nullopt;
      at.push_back(one->constant());
    }
    return read_(static_cast<std::size_t>(n.integer), at);
  }

  // var, extent, guard, body; written out.
  std::optional<SizeRatio> reduction(const ExprNode& n) {
    const auto extent = index(*n.kids[1]);
    if (!extent || !extent->is_constant() || extent->constant() > kMostElements)
      return std::nullopt;
    std::optional<Index> all;
    if (n.reduction == ir::Reduction::kSum) all = Index(0);
    if (n.reduction == ir::Reduction::kProd) all = Index(1);
    for (std::int64_t i = 0; i < extent->constant(); ++i) {
      variables_[n.kids[0]] = i;
      const auto counts = guard(*n.kids[2]);
      if (!counts) return std::nullopt;
      if (!*counts) continue;
      const auto one = scalar(*n.kids[3]);
      if (!one || one->under != 1) return std::nullopt;
      all = all ? joined(n.reduction, *all, one->over) : one->over;
    }
    return ratio(all);
  }

  static Index joined(ir::Reduction reduction, Index a, Index b) {
    switch (reduction) {
      case ir::Reduction::kSum: return a + b;
      case ir::Reduction::kProd: return a * b;
      case ir::Reduction::kMax: return ir::max(a, b);
      case ir::Reduction::kMin: return ir::min(a, b);
    }
    return a;
  }

  std::optional<Index> index(const ExprNode& n) {
    const auto pair = [&](auto combine) -> std::optional<Index> {
      const auto a = index(*n.kids[0]);
      const auto b = index(*n.kids[1]);
      return a && b ? std::optional(combine(*a, *b)) : std::nullopt;
    };
    switch (n.op) {
      case ExprOp::kIndexConst: return Index(n.integer);
      case ExprOp::kSymbol: return Index(&n);
      case ExprOp::kVar: {
        const auto found = variables_.find(&n);
        return found != variables_.end() ? std::optional(Index(found->second)) : std::nullopt;
      }
      case ExprOp::kIndexAdd: return pair([](Index a, Index b) { return a + b; });
      case ExprOp::kIndexMul: return pair([](Index a, Index b) { return a * b; });
      case ExprOp::kIndexDiv: return pair([](Index a, Index b) { return ir::div(a, b); });
      case ExprOp::kIndexMod: return pair([](Index a, Index b) { return ir::mod(a, b); });
      case ExprOp::kIndexMin: return pair([](Index a, Index b) { return ir::min(a, b); });
      case ExprOp::kIndexMax: return pair([](Index a, Index b) { return ir::max(a, b); });
      case ExprOp::kIndexOf: {
        const auto whole = scalar(*n.kids[0]);
        return whole && whole->under == 1 ? std::optional(whole->over) : std::nullopt;
      }
      default: return std::nullopt;
    }
  }

  std::optional<bool> guard(const ExprNode& n) {
    const auto compared = [&](auto value_of, auto compare) -> std::optional<bool> {
      const auto a = value_of(*n.kids[0]);
      const auto b = value_of(*n.kids[1]);
      return a && b ? ir::decided(compare(*a, *b)) : std::nullopt;
    };
    const auto of_index = [&](const ExprNode& kid) { return index(kid); };
    const auto of_scalar = [&](const ExprNode& kid) -> std::optional<Index> {
      const auto whole = scalar(kid);
      return whole && whole->under == 1 ? std::optional(whole->over) : std::nullopt;
    };
    const auto less_equal = [](Index a, Index b) { return a <= b; };
    const auto equal = [](Index a, Index b) { return a == b; };
    switch (n.op) {
      case ExprOp::kGuardConst: return n.integer != 0;
      case ExprOp::kIndexLe: return compared(of_index, less_equal);
      case ExprOp::kIndexEq: return compared(of_index, equal);
      case ExprOp::kScalarLt: return compared(of_scalar, [](Index a, Index b) { return a < b; });
      case ExprOp::kScalarLe: return compared(of_scalar, less_equal);
      case ExprOp::kScalarEq: return compared(of_scalar, equal);
      case ExprOp::kNot: {
        const auto inner = guard(*n.kids[0]);
        return inner ? std::optional(!*inner) : std::nullopt;
      }
      case ExprOp::kAnd:
      case ExprOp::kOr: {
        const bool decisive = n.op == ExprOp::kOr;  // one such operand decides
        const auto a = guard(*n.kids[0]);
        if (a && *a == decisive) return decisive;
        const auto b = guard(*n.kids[1]);
        if (b && *b == decisive) return decisive;
        return a && b ? std::optional(!decisive) : std::nullopt;
      }
      default: return std::nullopt;
    }
  }

  Read read_;
  bool real_;
  std::map<const ExprNode*, std::int64_t> variables_;
};

}  // namespace

void ShapeValues::extend() {
  for (; looked_at_ < graph_.size(); ++looked_at_) {
    const ir::Node& node = graph_.node(ir::NodeId(looked_at_));
    if (node.kind != ir::NodeKind::kOperator || node.op->is_composite()) continue;
    if (!may_hold_sizes(node.type)) continue;
    try {
      if (auto made = computed(node)) values_.emplace(ir::NodeId(looked_at_), *std::move(made));
    } catch (const ir::IndexError&) {  // an element exceeds 64 bits whatever the sizes are
    }
  }
}

std::optional<std::vector<SizeRatio>> ShapeValues::known(ir::NodeId id) {
  if (const auto found = values_.find(id); found != values_.end()) return found->second.elements;
  const ir::TensorType& type = graph_.node(id).type;
  if (!may_hold_sizes(type)) return std::nullopt;
  const auto constant = constants_.value(id);
  if (!constant) return std::nullopt;
  std::vector<SizeRatio> numbers;
  for (std::int64_t i = 0; i < constant->elements(); ++i) {
    if (ir::is_float(type.dtype)) {
      const auto real = number(constant->f64_at(i));
      if (!real) return std::nullopt;
      numbers.push_back(*real);
      continue;
    }
    // "To the end" is the largest integer.
    numbers.push_back(
        {std::clamp(constant->i64_at(i), -ir::OnnxNode::kIntegerLimit, ir::OnnxNode::kIntegerLimit),
         1});
  }
  return numbers;
}

std::optional<std::vector<Index>> ShapeValues::elements(ir::NodeId id) {
  if (!holds_integers(graph_.node(id).type.dtype)) return std::nullopt;
  const auto all = known(id);
  if (!all) return std::nullopt;
  std::vector<Index> integers;
  for (const SizeRatio& one : *all) integers.push_back(one.over);
  return integers;
}

std::optional<std::vector<SizeRatio>> ShapeValues::ratios(ir::NodeId id) {
  auto all = known(id);
  return all && std::ranges::none_of(*all, is_rounded) ? std::move(all) : std::nullopt;
}

bool ShapeValues::rely_on(ir::NodeId id) {
  const auto found = values_.find(id);
  if (found == values_.end() || found->second.conditions.empty()) return true;
  ir::SymbolicScope* const scope = ir::SymbolicScope::current();
  return scope != nullptr && std::ranges::all_of(found->second.conditions,
                                                 [&](ir::Guard one) { return scope->assume(one); });
}

// Whether a number of the element type is exact, or a quotient whose floor and ceiling are, under
// conditions that the examples meet.
//
// Of integers a and b with a + b < 2^(p+1), for p bits of precision, a / b is an integer or at
// least 1/b away from the next, which is more than half a unit in the last place: rounding does not
// reach it.
bool ShapeValues::is_exact(const SizeRatio& element, ir::DType dtype,
                           std::vector<ir::Guard>& conditions) {
  const int precision = dtype == ir::DType::kF64   ? 53
                        : dtype == ir::DType::kF32 ? 24
                        : dtype == ir::DType::kF16 ? 11
                                                   : 8;
  const std::int64_t bound = std::int64_t{1} << (is_rounded(element) ? precision - 1 : precision);
  if (is_rounded(element) && element.under > bound) return false;
  for (const ir::Guard condition : {element.over <= Index(bound), Index(-bound) <= element.over}) {
    if (!ir::SymbolicScope::current()->example(condition)) return false;
    if (!holds(condition)) conditions.push_back(condition);
  }
  return true;
}

std::optional<ShapeValues::Value> ShapeValues::computed(const ir::Node& node) {
  std::vector<ir::TensorType> types;
  for (const ir::NodeId input : node.inputs) types.push_back(graph_.node(input).type);
  const auto denotation = ir::denote(*node.op, node.attrs, types);
  if (!denotation.ok()) return std::nullopt;
  Value result;
  std::vector<std::optional<std::optional<std::vector<SizeRatio>>>> inputs(node.inputs.size());
  const auto look_up = [&](std::size_t input) {
    inputs[input] = known(node.inputs[input]);
    const auto found = values_.find(node.inputs[input]);
    if (found == values_.end()) return;
    result.conditions.insert(result.conditions.end(), found->second.conditions.begin(),
                             found->second.conditions.end());
  };
  const auto read = [&](std::size_t input,
                        const std::vector<std::int64_t>& at) -> std::optional<SizeRatio> {
    if (!inputs[input]) look_up(input);
    if (!*inputs[input]) return std::nullopt;
    const ir::Shape shape = types[input].shape();
    std::int64_t place = 0;
    for (std::size_t axis = 0; axis < at.size(); ++axis) {
      if (at[axis] < 0 || at[axis] >= shape[axis]) return std::nullopt;
      place = place * shape[axis] + at[axis];
    }
    return (**inputs[input])[static_cast<std::size_t>(place)];
  };
  const bool real = std::ranges::any_of(
      types, [](const ir::TensorType& type) { return ir::is_float(type.dtype); });
  const ir::Shape shape = node.type.shape();
  for (std::int64_t linear = 0; linear < node.type.elements(); ++linear) {
    ElementOfSizes element(read, real);
    std::int64_t rest = linear;
    for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[axis])
      element.bind(denotation->vars[axis], rest % shape[axis]);
    const auto value = denotation->value.is_constant() ? number(denotation->value.constant())
                                                       : element.scalar(*denotation->value.node());
    if (!value || !meter_.is_short(value->over)) return std::nullopt;
    if (!ir::evaluate(value->over, ir::SymbolicScope::current()->examples())) return std::nullopt;
    const bool fits = ir::is_float(node.type.dtype)
                          ? is_exact(*value, node.type.dtype, result.conditions)
                          : value->under == 1;
    if (!fits) return std::nullopt;
    result.elements.push_back(*value);
  }
  return result;
}

}  // namespace egret::frontends
