// SPDX-License-Identifier: Apache-2.0
// DirectEvaluator: evaluates a denotation one output element at a time, straight from the
// language's definition. Slow and obviously correct: the oracle of the loop plans and the engine of
// the exact domains. Template over the domain of real elements; RealDomain in
// ir/evaluate/direct_evaluation.cc shows the interface of a domain. Integer elements are the same
// in all domains. A domain whose tensors may lack elements also offers undefined(input, i): the
// reason why the element is missing, or null. An output element that reads a missing element fails
// for the same reason.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "ir/core/integer_arithmetic.h"
#include "ir/nest/term_graph.h"

namespace egret::ir {

template <typename Domain>
class DirectEvaluator {
 public:
  using Real = typename Domain::Value;

  // `shapes` are those of the inputs.
  DirectEvaluator(const TermGraph& graph, std::span<const Shape> shapes, Domain& domain)
      : graph_(graph),
        shapes_(shapes),
        domain_(domain),
        vars_(static_cast<std::size_t>(graph.var_count), 0) {}

  // Calls emit_real(i, value) or emit_integer(i, value) for each element of `shape`, in order.
  // Stops at the first element without a value.
  template <typename EmitReal, typename EmitInteger>
  base::Status run(const Shape& shape, const EmitReal& emit_real, const EmitInteger& emit_integer) {
    return run(shape, emit_real, emit_integer, [](std::int64_t, base::Status why) { return why; });
  }
  // As above, and calls emit_undefined(i, why) after an element without a value (for which
  // something was emitted all the same); stops where that returns a failure.
  template <typename EmitReal, typename EmitInteger, typename EmitUndefined>
  base::Status run(const Shape& shape, const EmitReal& emit_real, const EmitInteger& emit_integer,
                   const EmitUndefined& emit_undefined) {
    const std::int64_t count = element_count(shape).value_or(0);
    for (const int var : graph_.vars) vars_[static_cast<std::size_t>(var)] = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      if (graph_[graph_.root].is_real()) {
        emit_real(i, real(graph_.root));
      } else {
        emit_integer(i, integer(graph_.root));
      }
      if (!status_.ok()) {
        EGRET_RETURN_IF_ERROR(emit_undefined(i, std::exchange(status_, base::ok())));
      }
      for (std::size_t axis = shape.size(); axis-- > 0;) {
        std::int64_t& v = vars_[static_cast<std::size_t>(graph_.vars[axis])];
        if (++v < shape[axis]) break;
        v = 0;
      }
    }
    return base::ok();
  }

 private:
  Real real(TermId id) {
    const Term* t = &graph_[id];
    while (t->op == ExprOp::kSelect) t = &graph_[guard(t->kids[0]) ? t->kids[1] : t->kids[2]];
    const auto kid = [&](std::size_t i) { return real(t->kids[i]); };
    switch (t->op) {
      case ExprOp::kConst: return checked<Real>(domain_.constant(t->real));
      case ExprOp::kRead: {
        const std::int64_t at = offset(*t);
        return readable(*t, at) ? domain_.read(static_cast<int>(t->integer), at) : Real{};
      }
      case ExprOp::kAdd: return domain_.add(kid(0), kid(1));
      case ExprOp::kSub: return domain_.sub(kid(0), kid(1));
      case ExprOp::kMul: return domain_.mul(kid(0), kid(1));
      case ExprOp::kDiv: return checked<Real>(domain_.div(kid(0), kid(1)));
      case ExprOp::kNeg: return domain_.neg(kid(0));
      case ExprOp::kMin: return domain_.min(kid(0), kid(1));
      case ExprOp::kMax: return domain_.max(kid(0), kid(1));
      case ExprOp::kCall:
        return checked<Real>(
            domain_.call(t->function, kid(0), t->kids.size() > 1 ? kid(1) : Real{}));
      case ExprOp::kScalarOf: return domain_.from_integer(DType::kI64, index(t->kids[0]));
      case ExprOp::kCast: {
        const Term& from = graph_[t->kids[0]];
        if (from.is_real()) return domain_.round_to(t->cast, kid(0));
        return domain_.round_to(t->cast, domain_.from_integer(from.type, integer(t->kids[0])));
      }
      case ExprOp::kReduce: return reduce(*t, &DirectEvaluator::real, Reals{domain_});
      default: break;
    }
    EGRET_CHECK(false, "not a scalar");
    return Real{};
  }

  std::int64_t integer(TermId id) {
    const Term* t = &graph_[id];
    while (t->op == ExprOp::kSelect) t = &graph_[guard(t->kids[0]) ? t->kids[1] : t->kids[2]];
    const DType type = t->type;
    const WrappingIntegers in{type};
    const auto kid = [&](std::size_t i) { return integer(t->kids[i]); };
    switch (t->op) {
      case ExprOp::kConst: return real_to_integer(type, t->real);
      case ExprOp::kRead: {
        const std::int64_t at = offset(*t);
        return readable(*t, at) ? domain_.read_integer(static_cast<int>(t->integer), at) : 0;
      }
      case ExprOp::kAdd: return in.add(kid(0), kid(1));
      case ExprOp::kSub: return wrap(type, wrapping_sub(kid(0), kid(1)));
      case ExprOp::kMul: return in.mul(kid(0), kid(1));
      case ExprOp::kDiv: {
        const std::int64_t a = kid(0);
        const std::int64_t b = kid(1);
        if (b == 0) {
          fail(base::bad_input("integer division by zero"));
          return 0;
        }
        return wrap(type, truncating_div(type, a, b));
      }
      case ExprOp::kNeg: return wrap(type, wrapping_sub(0, kid(0)));
      case ExprOp::kMin: return in.min(kid(0), kid(1));
      case ExprOp::kMax: return in.max(kid(0), kid(1));
      case ExprOp::kCall:
        return wrap(type, apply_integer(t->function, kid(0), t->kids.size() > 1 ? kid(1) : 0));
      case ExprOp::kScalarOf: return wrap(type, index(t->kids[0]));
      case ExprOp::kCast:
        return graph_[t->kids[0]].is_real() ? domain_.to_integer(type, real(t->kids[0]))
                                            : wrap(type, kid(0));
      case ExprOp::kReduce: return reduce(*t, &DirectEvaluator::integer, in);
      default: break;
    }
    EGRET_CHECK(false, "not a scalar");
    return 0;
  }

  std::int64_t index(TermId id) {
    const Term& t = graph_[id];
    const auto kid = [&](std::size_t i) { return index(t.kids[i]); };
    switch (t.op) {
      case ExprOp::kIndexConst: return t.integer;
      case ExprOp::kVar: return vars_[static_cast<std::size_t>(t.integer)];
      case ExprOp::kIndexAdd: return wrapping_add(kid(0), kid(1));
      case ExprOp::kIndexMul: return wrapping_mul(kid(0), kid(1));
      case ExprOp::kIndexMin: return std::min(kid(0), kid(1));
      case ExprOp::kIndexMax: return std::max(kid(0), kid(1));
      case ExprOp::kIndexOf: {
        const Term& from = graph_[t.kids[0]];
        return from.is_real() ? domain_.to_integer(DType::kI64, real(t.kids[0]))
                              : integer(t.kids[0]);
      }
      case ExprOp::kIndexDiv:
      case ExprOp::kIndexMod: {
        const std::int64_t a = kid(0);
        const std::int64_t b = kid(1);
        if (b <= 0) {
          fail(base::bad_input("an index is divided by " + std::to_string(b)));
          return 0;
        }
        const std::int64_t quotient = euclidean_div(a, b);
        return t.op == ExprOp::kIndexDiv ? quotient : a - quotient * b;
      }
      default: break;
    }
    EGRET_CHECK(false, "not an index");
    return 0;
  }

  bool guard(TermId id) {
    const Term& t = graph_[id];
    switch (t.op) {
      case ExprOp::kGuardConst: return t.integer != 0;
      case ExprOp::kIndexLe: return index(t.kids[0]) <= index(t.kids[1]);
      case ExprOp::kIndexEq: return index(t.kids[0]) == index(t.kids[1]);
      case ExprOp::kAnd: return guard(t.kids[0]) && guard(t.kids[1]);
      case ExprOp::kOr: return guard(t.kids[0]) || guard(t.kids[1]);
      case ExprOp::kNot: return !guard(t.kids[0]);
      default: break;
    }
    const DType type = graph_[t.kids[0]].type;
    if (type == DType::kF64) {
      const Real a = real(t.kids[0]);
      const Real b = real(t.kids[1]);
      if (t.op == ExprOp::kScalarLt) return domain_.less(a, b);
      return t.op == ExprOp::kScalarLe ? domain_.less_equal(a, b) : domain_.equal(a, b);
    }
    const std::int64_t a = integer(t.kids[0]);
    const std::int64_t b = integer(t.kids[1]);
    if (t.op == ExprOp::kScalarLt) return integer_less(type, a, b);
    return t.op == ExprOp::kScalarLe ? !integer_less(type, b, a) : a == b;
  }

  // The four operations of reductions, on reals and on integers.
  struct Reals {
    Domain& domain;
    Real zero() const { return domain.from_integer(DType::kI64, 0); }
    Real one() const { return domain.from_integer(DType::kI64, 1); }
    Real add(const Real& a, const Real& b) const { return domain.add(a, b); }
    Real mul(const Real& a, const Real& b) const { return domain.mul(a, b); }
    Real min(const Real& a, const Real& b) const { return domain.min(a, b); }
    Real max(const Real& a, const Real& b) const { return domain.max(a, b); }
    base::Result<Real> empty(Reduction reduction) const { return domain.empty(reduction); }
  };
  struct WrappingIntegers {
    DType type;
    std::int64_t zero() const { return 0; }
    std::int64_t one() const { return 1; }
    std::int64_t add(std::int64_t a, std::int64_t b) const {
      return wrap(type, wrapping_add(a, b));
    }
    std::int64_t mul(std::int64_t a, std::int64_t b) const {
      return wrap(type, wrapping_mul(a, b));
    }
    std::int64_t min(std::int64_t a, std::int64_t b) const {
      return integer_less(type, b, a) ? b : a;
    }
    std::int64_t max(std::int64_t a, std::int64_t b) const {
      return integer_less(type, a, b) ? b : a;
    }
    base::Result<std::int64_t> empty(Reduction reduction) const {
      return reduction == Reduction::kMax ? lowest_integer(type) : highest_integer(type);
    }
  };

  template <typename T, typename Ops>
  T reduce(const Term& t, T (DirectEvaluator::*body)(TermId), const Ops& ops) {
    const auto var = static_cast<std::size_t>(graph_[t.kids[0]].integer);
    const std::int64_t extent = index(t.kids[1]);
    std::optional<T> folded;
    if (t.reduction == Reduction::kSum) folded = ops.zero();
    if (t.reduction == Reduction::kProd) folded = ops.one();
    for (std::int64_t i = 0; i < extent && status_.ok(); ++i) {
      vars_[var] = i;
      if (!guard(t.kids[2])) continue;
      T value = (this->*body)(t.kids[3]);
      if (!folded) {
        folded = std::move(value);
        continue;
      }
      switch (t.reduction) {
        case Reduction::kSum: folded = ops.add(*folded, value); break;
        case Reduction::kProd: folded = ops.mul(*folded, value); break;
        case Reduction::kMax: folded = ops.max(*folded, value); break;
        case Reduction::kMin: folded = ops.min(*folded, value); break;
      }
    }
    return folded ? *std::move(folded) : checked<T>(ops.empty(t.reduction));
  }

  std::int64_t offset(const Term& read) {
    const Shape& shape = shapes_[static_cast<std::size_t>(read.integer)];
    std::int64_t flat = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const std::int64_t at = index(read.kids[axis]);
      if (at < 0 || at >= shape[axis]) {
        fail(base::bad_input("index " + std::to_string(at) + " is outside of axis " +
                             std::to_string(axis) + " of size " + std::to_string(shape[axis])));
        return 0;
      }
      flat = flat * shape[axis] + at;
    }
    return flat;
  }

  bool readable(const Term& read, std::int64_t at) {
    if constexpr (requires { domain_.undefined(0, at); }) {
      if (!status_.ok()) return false;
      const base::Status* why = domain_.undefined(static_cast<int>(read.integer), at);
      if (why != nullptr) fail(*why);
    }
    return status_.ok();
  }

  void fail(base::Status status) {
    if (status_.ok()) status_ = std::move(status);
  }
  // Domains report a value that they do not have as a failed Result.
  template <typename T>
  T checked(base::Result<T> value) {
    if (value.ok()) return *std::move(value);
    fail(value.status());
    return T{};
  }

  const TermGraph& graph_;
  std::span<const Shape> shapes_;
  Domain& domain_;
  std::vector<std::int64_t> vars_;
  base::Status status_;
};

}  // namespace egret::ir
