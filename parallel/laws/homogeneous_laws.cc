// SPDX-License-Identifier: Apache-2.0
#include "parallel/laws/homogeneous_laws.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace egret::parallel {
namespace {

using ir::ExprNode;
using ir::ExprOp;
using Kind = AxisPlacement::Kind;

// How an expression depends on the source.
enum class Way : std::uint8_t {
  kFree,     // not at all
  kZero,     // it is the constant 0
  kCarried,  // homogeneous: a relation of the parts carries over
  kLost,     // otherwise
};

bool is_free(Way way) { return way == Way::kFree || way == Way::kZero; }

// Whether the function is increasing and defined everywhere: a part that is not the maximum may lie
// outside of a logarithm's domain.
bool increases_everywhere(ir::Function function) {
  const ir::FunctionFacts& facts = ir::facts(function);
  if (facts.arity != 1 || facts.monotone != ir::Monotone::kIncreasing) return false;
  return std::ranges::none_of(std::initializer_list<double>{-1e3, 0, 1e3},
                              [&](double x) { return std::isnan(facts.f64(x, 0)); });
}

// One pass over the expression, memoized by node: its cost is linear in the size of the definition.
// The rules are those of a type system: the way of a node follows from the ways of its kids. kLost
// is the safe answer, so the analysis is sound but not complete.
class Passage {
 public:
  Passage(const PartialSource& source, std::span<const ir::TensorType> types, Kind kind,
          bool exact_quotients)
      : source_(source),
        types_(types),
        sum_(kind == Kind::kSum),
        exact_quotients_(exact_quotients) {}

  Way of(ir::Scalar value) {
    if (value.is_constant()) return of_constant(value.constant());
    // A concatenation of thousands of inputs is an expression as deep.
    for (const ExprNode* node : kids_first(value.node())) {
      is_real(node);
      of(node);
    }
    return of(value.node());
  }

 private:
  // The nodes of an expression, each once and after its kids, without recursion.
  static std::vector<const ExprNode*> kids_first(const ExprNode* root) {
    std::vector<const ExprNode*> order;
    std::set<const ExprNode*> seen{root};
    std::vector<std::pair<const ExprNode*, std::size_t>> path{{root, 0}};
    while (!path.empty()) {
      auto& [node, next] = path.back();
      if (next == node->kids.size()) {
        order.push_back(node);
        path.pop_back();
      } else if (const ExprNode* kid = node->kids[next++]; seen.insert(kid).second) {
        path.emplace_back(kid, 0);
      }
    }
    return order;
  }

  static Way of_constant(double value) { return value == 0 ? Way::kZero : Way::kFree; }

  Way of(const ExprNode* node) {
    const auto known = ways_.find(node);
    if (known != ways_.end()) return known->second;
    return ways_[node] = make(node);
  }

  // Whether indices and guards are independent of the source.
  bool all_free(std::span<const ExprNode* const> kids) {
    return std::ranges::all_of(kids, [&](const ExprNode* kid) { return is_free(of(kid)); });
  }
  Way free_or_lost(const ExprNode* node) { return all_free(node->kids) ? Way::kFree : Way::kLost; }

  Way make(const ExprNode* node) {
    if (node == source_.reduction) return Way::kCarried;
    const auto kid = [&](std::size_t i) { return of(node->kids[i]); };
    switch (node->op) {
      case ExprOp::kConst: return of_constant(node->real);
      case ExprOp::kRead: {
        if (!all_free(node->kids)) return Way::kLost;
        const auto input = static_cast<std::size_t>(node->integer);
        return input < source_.inputs.size() && source_.inputs[input] ? Way::kCarried : Way::kFree;
      }
      case ExprOp::kNeg: return sum_ || is_free(kid(0)) ? kid(0) : Way::kLost;
      case ExprOp::kAdd: return of_sum(node, kid(0), kid(1));
      case ExprOp::kSub: return sum_ || is_free(kid(1)) ? of_sum(node, kid(0), kid(1)) : Way::kLost;
      case ExprOp::kMul: return of_product(node->kids[0], node->kids[1]);
      case ExprOp::kDiv: return of_quotient(node->kids[0], node->kids[1]);
      case ExprOp::kMin:
      case ExprOp::kMax: return of_extremum(node->op, kid(0), kid(1));
      case ExprOp::kSelect: return is_free(kid(0)) ? of_choice(kid(1), kid(2)) : Way::kLost;
      case ExprOp::kReduce: return of_reduction(node);
      case ExprOp::kCast: return of_cast(node);
      case ExprOp::kCall: {
        if (!sum_ && increases_everywhere(node->function) && kid(0) == Way::kCarried &&
            is_real(node))
          return Way::kCarried;
        return free_or_lost(node);
      }
      default: return free_or_lost(node);  // indices, guards and what is made of them
    }
  }

  // Whether the value is of a float type, as what it is made of shows; false where nothing does.
  bool is_real(const ExprNode* node) {
    const auto known = real_.find(node);
    if (known != real_.end()) return known->second;
    return real_[node] = make_real(node);
  }

  bool make_real(const ExprNode* node) {
    switch (node->op) {
      case ExprOp::kRead: {
        const auto input = static_cast<std::size_t>(node->integer);
        return input < types_.size() && ir::is_float(types_[input].dtype);
      }
      case ExprOp::kCast: return ir::is_float(node->dtype);
      case ExprOp::kReduce: return is_real(node->kids[3]);
      case ExprOp::kSelect: return is_real(node->kids[1]) || is_real(node->kids[2]);
      case ExprOp::kNeg:
      case ExprOp::kAdd:
      case ExprOp::kSub:
      case ExprOp::kMul:
      case ExprOp::kDiv:
      case ExprOp::kMin:
      case ExprOp::kMax:
      case ExprOp::kCall:
        return std::ranges::any_of(node->kids, [&](const ExprNode* kid) { return is_real(kid); });
      default: return false;
    }
  }

  // Integers wrap around. The sum of the parts and the whole are equal modulo 2^n; as floats they
  // differ.
  Way of_cast(const ExprNode* node) {
    const Way way = of(node->kids[0]);
    if (is_free(way)) return way;
    const bool passes = ir::is_float(node->dtype) && (!sum_ || is_real(node->kids[0]));
    return passes ? way : Way::kLost;
  }

  // Sums: x + y passes if both do, and x + c only if c is 0 (a constant would be added once a
  // device). Maxima: max_r(x_r) + c = max_r(x_r + c), but two partial maxima must not be added, and
  // integers may wrap around on one device alone.
  Way of_sum(const ExprNode* node, Way a, Way b) {
    if (a == Way::kLost || b == Way::kLost) return Way::kLost;
    if (a == b) return sum_ || a != Way::kCarried ? a : Way::kLost;
    if (a == Way::kCarried || b == Way::kCarried) {
      const bool zero = a == Way::kZero || b == Way::kZero;
      return zero || (!sum_ && is_real(node)) ? Way::kCarried : Way::kLost;
    }
    return Way::kFree;
  }

  static bool is_positive(const ExprNode* node) {
    return node->op == ExprOp::kConst && node->real > 0;
  }

  Way of_product(const ExprNode* x, const ExprNode* y) {
    const Way a = of(x);
    const Way b = of(y);
    if (is_free(a) && is_free(b)) return a == Way::kZero || b == Way::kZero ? Way::kZero : a;
    // A product of two partial values is not linear.
    if (a == Way::kLost || b == Way::kLost || a == b) return Way::kLost;
    if (a == Way::kZero || b == Way::kZero) return Way::kZero;
    const bool increases =
        is_positive(a == Way::kCarried ? y : x) && is_real(a == Way::kCarried ? x : y);
    return sum_ || increases ? Way::kCarried : Way::kLost;
  }

  // A quotient passes if only the numerator is partial. Quotients of integers are truncated, so
  // they do not distribute over sums.
  Way of_quotient(const ExprNode* x, const ExprNode* y) {
    const Way a = of(x);
    if (!is_free(of(y)) || a == Way::kLost) return Way::kLost;
    if (a != Way::kCarried) return a;
    return exact_quotients_ && (sum_ || is_positive(y)) ? Way::kCarried : Way::kLost;
  }

  // For partial maxima: max(x, y) passes for any x and y, because a maximum is idempotent. min(x,
  // y) passes only if one side is free.
  Way of_extremum(ExprOp op, Way a, Way b) const {
    if (is_free(a) && is_free(b)) return Way::kFree;
    if (sum_ || a == Way::kLost || b == Way::kLost) return Way::kLost;
    return op == ExprOp::kMax || a != b ? Way::kCarried : Way::kLost;
  }

  // The condition is the same on every device. For sums, a branch that is not partial must be 0, or
  // it would be counted once per device.
  Way of_choice(Way a, Way b) const {
    if (a == Way::kLost || b == Way::kLost) return Way::kLost;
    if (a == b) return a;
    if (a != Way::kCarried && b != Way::kCarried) return Way::kFree;
    return !sum_ || a == Way::kZero || b == Way::kZero ? Way::kCarried : Way::kLost;
  }

  // A reduction of partial values commutes with the relation of the parts if both are sums or both
  // are maxima.
  Way of_reduction(const ExprNode* node) {
    const bool shape_free = is_free(of(node->kids[1])) && is_free(of(node->kids[2]));
    const Way body = of(node->kids[3]);
    if (!shape_free) return Way::kLost;
    if (is_free(body)) return node->reduction == ir::Reduction::kSum ? body : Way::kFree;
    const auto same = sum_ ? ir::Reduction::kSum : ir::Reduction::kMax;
    return node->reduction == same ? body : Way::kLost;
  }

  const PartialSource& source_;
  const std::span<const ir::TensorType> types_;
  const bool sum_;
  const bool exact_quotients_;
  std::unordered_map<const ExprNode*, Way> ways_;
  std::unordered_map<const ExprNode*, bool> real_;
};

}  // namespace

// An operator f passes partial results if f(x + y) = f(x) + f(y), or f(max(x, y)) = max(f(x),
// f(y)). Truth values have no sums, and quotients of integers do not distribute.
bool is_homogeneous(const ir::Denotation& denotation, std::span<const ir::TensorType> types,
                    const PartialSource& source, Kind kind) {
  const auto is_bool = [](const ir::TensorType& type) { return type.dtype == ir::DType::kBool; };
  if (is_bool(denotation.type)) return false;
  bool real = ir::is_float(denotation.type.dtype);
  for (std::size_t i = 0; i < types.size(); ++i) {
    const bool partial = i < source.inputs.size() && source.inputs[i];
    if (partial && is_bool(types[i])) return false;
    real = real && (!partial || ir::is_float(types[i].dtype));
  }
  return Passage(source, types, kind, real).of(denotation.value) == Way::kCarried;
}

}  // namespace egret::parallel
