// SPDX-License-Identifier: Apache-2.0
// Construction of expressions, with the simplifications that keep them small. Only laws that hold
// for all integers are used on indices, and only those that keep every rounding on scalars.
#include "ir/core/denotation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

namespace egret::ir {
namespace {

bool is_index_op(ExprOp op) { return op <= ExprOp::kIndexOf; }
bool is_guard_op(ExprOp op) { return op >= ExprOp::kGuardConst && op <= ExprOp::kNot; }

// The pool in which to build over these nodes: the local one when symbolic dimensions mix in.
ExprPool& pool_of(std::initializer_list<const ExprNode*> nodes) {
  ExprPool* found = nullptr;
  for (const ExprNode* node : nodes) {
    if (node == nullptr) continue;
    if (found == nullptr || found == &symbol_pool()) found = node->pool;
  }
  EGRET_CHECK(found != nullptr, "constants alone need no pool");
  return *found;
}

template <typename Handle>
const ExprNode* binary(ExprOp op, Handle a, Handle b) {
  ExprPool& pool = pool_of({a.node(), b.node()});
  const ExprNode* kids[] = {pool.node_of(a), pool.node_of(b)};
  return pool.intern({.op = op, .kids = kids});
}

// Orders symbolic dimensions by structure alone, independent of the process's history. Equal nodes
// are one node, so the first operands that differ decide, and the walk follows a single path.
bool precedes(const ExprNode* a, const ExprNode* b) {
  while (a != b) {
    const auto payload = [](const ExprNode& n) {
      return std::tuple(n.op, n.integer, n.name, n.kids.size());
    };
    if (payload(*a) != payload(*b)) return payload(*a) < payload(*b);
    const auto [x, y] = std::ranges::mismatch(a->kids, b->kids);
    if (x == a->kids.end()) break;
    a = *x;
    b = *y;
  }
  return false;
}

// Commutative operators keep their operands in a canonical order, which makes N*4 and 4*N one node:
// constants last; symbolic dimensions first, by structure; nodes of a local pool by age.
template <typename Handle>
bool in_order(Handle a, Handle b) {
  if (a.is_constant() || b.is_constant()) return b.is_constant();
  const bool symbolic = a.node()->pool == &symbol_pool();
  if (symbolic != (b.node()->pool == &symbol_pool())) return symbolic;
  return symbolic ? !precedes(b.node(), a.node()) : a.node()->id <= b.node()->id;
}

template <typename Handle>
const ExprNode* commutative(ExprOp op, Handle a, Handle b) {
  return in_order(a, b) ? binary(op, a, b) : binary(op, b, a);
}

constexpr const char* kOverflow = "a size computed from shapes and attributes exceeds 64 bits";
constexpr const char* kDivision = "a size computed from shapes and attributes divides by zero";

bool is(Index a, std::int64_t value) { return a.is_constant() && a.constant() == value; }
bool is(Scalar a, double value) { return a.is_constant() && a.constant() == value; }
bool is_op(Index a, ExprOp op) { return !a.is_constant() && a.node()->op == op; }
Index kid(Index a, std::size_t i) { return Index(a.node()->kids[i]); }

// The remainder is never negative, unlike that of C++.
std::int64_t euclidean_div(std::int64_t a, std::int64_t b) {
  if (b == 0) throw IndexError{kDivision};
  if (b == -1 && a == INT64_MIN) throw IndexError{kOverflow};
  const std::int64_t quotient = a / b;
  return a % b < 0 ? quotient - (b > 0 ? 1 : -1) : quotient;
}

}  // namespace

Index::Index(const ExprNode* node) : node_(node) {
  EGRET_DCHECK(is_index_op(node->op));
  if (node->op == ExprOp::kIndexConst) {
    node_ = nullptr;
    value_ = node->integer;
  }
}

Guard::Guard(const ExprNode* node) : node_(node) {
  EGRET_DCHECK(is_guard_op(node->op));
  if (node->op == ExprOp::kGuardConst) {
    node_ = nullptr;
    value_ = node->integer != 0;
  }
}

Scalar::Scalar(const ExprNode* node) : node_(node) {
  EGRET_DCHECK(!is_index_op(node->op) && !is_guard_op(node->op));
  if (node->op == ExprOp::kConst) {
    node_ = nullptr;
    value_ = node->real;
  }
}

// Sums are kept as (symbolic part) + constant. The rules move constants outward until two of them
// meet and fold; each recursive call has a smaller operand.
Index operator+(Index a, Index b) {
  if (a.is_constant() && b.is_constant()) {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(a.constant(), b.constant(), &sum)) throw IndexError{kOverflow};
    return sum;
  }
  if (is(a, 0)) return b;
  if (is(b, 0)) return a;
  if (a.is_constant()) std::swap(a, b);
  if (is_op(a, ExprOp::kIndexAdd) && kid(a, 1).is_constant()) {  // constants gather at the end
    if (b.is_constant()) return kid(a, 0) + (kid(a, 1) + b);
    return (kid(a, 0) + b) + kid(a, 1);
  }
  if (is_op(b, ExprOp::kIndexAdd) && kid(b, 1).is_constant()) return (a + kid(b, 0)) + kid(b, 1);
  // x + (-1)*x = 0, also where the first x is one summand of a.
  if (is_op(b, ExprOp::kIndexMul) && is(kid(b, 1), -1)) {
    if (kid(b, 0).same(a)) return 0;
    if (is_op(a, ExprOp::kIndexAdd)) {
      if (kid(a, 0).same(kid(b, 0))) return kid(a, 1);
      if (kid(a, 1).same(kid(b, 0))) return kid(a, 0);
    }
  }
  if (is_op(a, ExprOp::kIndexMul) && is(kid(a, 1), -1) && kid(a, 0).same(b)) return 0;
  return Index(commutative(ExprOp::kIndexAdd, a, b));
}

Index operator-(Index a, Index b) {
  if (a.same(b)) return 0;
  return a + b * -1;
}

// Products are kept as (symbolic part) * constant. A constant distributes over a sum that ends in a
// constant, which keeps both normal forms.
Index operator*(Index a, Index b) {
  if (a.is_constant() && b.is_constant()) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(a.constant(), b.constant(), &product)) throw IndexError{kOverflow};
    return product;
  }
  if (is(a, 0) || is(b, 0)) return 0;
  if (is(a, 1)) return b;
  if (is(b, 1)) return a;
  if (a.is_constant()) std::swap(a, b);
  if (b.is_constant() && is_op(a, ExprOp::kIndexAdd) && kid(a, 1).is_constant()) {
    return kid(a, 0) * b + kid(a, 1) * b;
  }
  if (is_op(a, ExprOp::kIndexMul) && kid(a, 1).is_constant()) {
    if (b.is_constant()) return kid(a, 0) * (kid(a, 1) * b);
    return (kid(a, 0) * b) * kid(a, 1);
  }
  if (is_op(b, ExprOp::kIndexMul) && kid(b, 1).is_constant()) return (a * kid(b, 0)) * kid(b, 1);
  return Index(commutative(ExprOp::kIndexMul, a, b));
}

// The rules cancel only factors that divide the operand for every value of its variables.
Index div(Index a, Index b) {
  if (is(b, 1)) return a;
  if (a.is_constant() && b.is_constant()) {
    return euclidean_div(a.constant(), b.constant());
  }
  if (is(a, 0)) return 0;
  if (a.same(b)) return 1;  // divisors are positive
  if (is_op(a, ExprOp::kIndexMul)) {
    if (kid(a, 0).same(b)) return kid(a, 1);
    if (kid(a, 1).same(b)) return kid(a, 0);
    if (b.is_constant() && kid(a, 1).is_constant() && b.constant() > 0 &&
        kid(a, 1).constant() % b.constant() == 0) {
      return kid(a, 0) * (kid(a, 1).constant() / b.constant());
    }
  }
  return Index(binary(ExprOp::kIndexDiv, a, b));
}

Index mod(Index a, Index b) {
  if (is(b, 1)) return 0;
  if (a.is_constant() && b.is_constant()) {
    return a.constant() - euclidean_div(a.constant(), b.constant()) * b.constant();
  }
  if (is(a, 0) || a.same(b)) return 0;
  if (is_op(a, ExprOp::kIndexMul)) {
    if (kid(a, 0).same(b) || kid(a, 1).same(b)) return 0;
    if (b.is_constant() && kid(a, 1).is_constant() && b.constant() > 0 &&
        kid(a, 1).constant() % b.constant() == 0) {
      return 0;
    }
  }
  return Index(binary(ExprOp::kIndexMod, a, b));
}

Index ceil_div(Index a, Index b) { return div(a + b - 1, b); }

Index min(Index a, Index b) {
  if (a.same(b)) return a;
  if (a.is_constant() && b.is_constant()) return std::min(a.constant(), b.constant());
  return Index(commutative(ExprOp::kIndexMin, a, b));
}

Index max(Index a, Index b) {
  if (a.same(b)) return a;
  if (a.is_constant() && b.is_constant()) return std::max(a.constant(), b.constant());
  return Index(commutative(ExprOp::kIndexMax, a, b));
}

Index index_of(Scalar value) {
  if (value.is_constant()) return static_cast<std::int64_t>(value.constant());
  if (value.node()->op == ExprOp::kScalarOf) return Index(value.node()->kids[0]);
  ExprPool& pool = *value.node()->pool;
  const ExprNode* kids[] = {value.node()};
  return Index(pool.intern({.op = ExprOp::kIndexOf, .kids = kids}));
}

Guard operator<=(Index a, Index b) {
  if (a.same(b)) return true;
  if (a.is_constant() && b.is_constant()) return a.constant() <= b.constant();
  return Guard(binary(ExprOp::kIndexLe, a, b));
}
// Over the integers, <, >= and > are forms of <=: one node stands for all spellings of a condition.
Guard operator<(Index a, Index b) { return a + 1 <= b; }
Guard operator>=(Index a, Index b) { return b <= a; }
Guard operator>(Index a, Index b) { return b + 1 <= a; }

Guard operator==(Index a, Index b) {
  if (a.same(b)) return true;
  if (a.is_constant() && b.is_constant()) return false;
  return Guard(commutative(ExprOp::kIndexEq, a, b));
}
Guard operator!=(Index a, Index b) { return !(a == b); }

Guard operator&&(Guard a, Guard b) {
  if (a.is_false() || b.is_false()) return false;
  if (a.is_true()) return b;
  if (b.is_true() || a.node() == b.node()) return a;
  return Guard(binary(ExprOp::kAnd, a, b));
}

Guard operator||(Guard a, Guard b) {
  if (a.is_true() || b.is_true()) return true;
  if (a.is_false()) return b;
  if (b.is_false() || a.node() == b.node()) return a;
  return Guard(binary(ExprOp::kOr, a, b));
}

Guard operator!(Guard a) {
  if (a.is_constant()) return !a.is_true();
  if (a.node()->op == ExprOp::kNot) return Guard(a.node()->kids[0]);
  const ExprNode* kids[] = {a.node()};
  return Guard(a.node()->pool->intern({.op = ExprOp::kNot, .kids = kids}));
}

Guard within(Index low, Index i, Index high) { return low <= i && i < high; }

Guard less(Scalar a, Scalar b) {
  if (a.is_constant() && b.is_constant()) return a.constant() < b.constant();
  return Guard(binary(ExprOp::kScalarLt, a, b));
}
Guard less_equal(Scalar a, Scalar b) {
  if (a.is_constant() && b.is_constant()) return a.constant() <= b.constant();
  return Guard(binary(ExprOp::kScalarLe, a, b));
}
Guard equal(Scalar a, Scalar b) {
  if (a.is_constant() && b.is_constant()) return a.constant() == b.constant();
  return Guard(binary(ExprOp::kScalarEq, a, b));
}

namespace {
// An operation on two constants that is kept as an expression, because its double may be rounded.
Scalar constant_expression(ExprOp op, Scalar a, Scalar b) {
  ExprPool& pool = symbol_pool();
  const ExprNode* kids[] = {pool.node_of(a), pool.node_of(b)};
  return Scalar(pool.intern({.op = op, .kids = kids}));
}
}  // namespace

// Scalar constants fold only where the result is exact in every domain: 0 and 1 as neutral
// elements. (x + 0 differs from x for x = -0 alone, which no operator's meaning depends on.)
Scalar operator+(Scalar a, Scalar b) {
  if (is(a, 0)) return b;
  if (is(b, 0)) return a;
  if (a.is_constant() && b.is_constant()) return constant_expression(ExprOp::kAdd, a, b);
  return Scalar(binary(ExprOp::kAdd, a, b));
}

Scalar operator-(Scalar a, Scalar b) {
  if (is(b, 0)) return a;
  if (a.is_constant() && b.is_constant()) return constant_expression(ExprOp::kSub, a, b);
  return Scalar(binary(ExprOp::kSub, a, b));
}

Scalar operator*(Scalar a, Scalar b) {
  if (is(a, 1)) return b;
  if (is(b, 1)) return a;
  if (a.is_constant() && b.is_constant()) return constant_expression(ExprOp::kMul, a, b);
  return Scalar(binary(ExprOp::kMul, a, b));
}

Scalar operator/(Scalar a, Scalar b) {
  if (is(b, 1)) return a;
  if (a.is_constant() && b.is_constant()) return constant_expression(ExprOp::kDiv, a, b);
  return Scalar(binary(ExprOp::kDiv, a, b));
}

Scalar operator-(Scalar a) {
  if (a.is_constant()) return -a.constant();
  const ExprNode* kids[] = {a.node()};
  return Scalar(a.node()->pool->intern({.op = ExprOp::kNeg, .kids = kids}));
}

Scalar min(Scalar a, Scalar b) {
  if (a.is_constant() && b.is_constant()) return std::min(a.constant(), b.constant());
  return Scalar(binary(ExprOp::kMin, a, b));
}
Scalar max(Scalar a, Scalar b) {
  if (a.is_constant() && b.is_constant()) return std::max(a.constant(), b.constant());
  return Scalar(binary(ExprOp::kMax, a, b));
}

Scalar call(Function function, std::initializer_list<Scalar> arguments) {
  EGRET_CHECK(static_cast<int>(arguments.size()) == facts(function).arity, "function arity");
  ExprPool* pool = &symbol_pool();
  for (const Scalar& argument : arguments) {
    if (!argument.is_constant() && pool == &symbol_pool()) pool = argument.node()->pool;
  }
  std::vector<const ExprNode*> kids;
  for (const Scalar& argument : arguments) kids.push_back(pool->node_of(argument));
  return Scalar(pool->intern({.op = ExprOp::kCall, .function = function, .kids = kids}));
}

Scalar select(Guard guard, Scalar then, Scalar otherwise) {
  if (guard.is_true()) return then;
  if (guard.is_false()) return otherwise;
  if (then.is_constant() && otherwise.is_constant() && then.constant() == otherwise.constant()) {
    return then;
  }
  ExprPool& pool = pool_of({guard.node(), then.node(), otherwise.node()});
  const ExprNode* kids[] = {guard.node(), pool.node_of(then), pool.node_of(otherwise)};
  return Scalar(pool.intern({.op = ExprOp::kSelect, .kids = kids}));
}

// A constant folds only if a double holds it exactly.
Scalar scalar_of(Index index) {
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  if (index.is_constant() && index.constant() >= -kExact && index.constant() <= kExact) {
    return static_cast<double>(index.constant());
  }
  ExprPool& pool = index.is_constant() ? symbol_pool() : *index.node()->pool;
  const ExprNode* kids[] = {pool.node_of(index)};
  return Scalar(pool.intern({.op = ExprOp::kScalarOf, .kids = kids}));
}

Scalar scalar_of(Guard guard) { return select(guard, 1, 0); }

Scalar cast(DType type, Scalar value) {
  ExprPool& pool = value.is_constant() ? symbol_pool() : *value.node()->pool;
  const ExprNode* kids[] = {pool.node_of(value)};
  return Scalar(pool.intern({.op = ExprOp::kCast, .dtype = type, .kids = kids}));
}

namespace {
// Rebuilds with the simplifying operators, so that the result is again in normal form.
Index substitute_node(const ExprNode* node,
                      const std::function<const Index*(std::string_view)>& lookup, int depth) {
  EGRET_CHECK(depth < 10000, "symbolic dimension nested too deep");
  const auto at = [&](std::size_t i) { return substitute_node(node->kids[i], lookup, depth + 1); };
  switch (node->op) {
    case ExprOp::kIndexConst: return node->integer;
    case ExprOp::kSymbol: {
      const Index* found = lookup(node->name);
      return found != nullptr ? *found : Index(node);
    }
    case ExprOp::kIndexAdd: return at(0) + at(1);
    case ExprOp::kIndexMul: return at(0) * at(1);
    case ExprOp::kIndexDiv: return div(at(0), at(1));
    case ExprOp::kIndexMod: return mod(at(0), at(1));
    case ExprOp::kIndexMin: return min(at(0), at(1));
    case ExprOp::kIndexMax: return max(at(0), at(1));
    default: return Index(node);
  }
}
}  // namespace

Index substitute(Index value, const std::function<const Index*(std::string_view)>& lookup) {
  return value.is_constant() ? value : substitute_node(value.node(), lookup, 0);
}

}  // namespace egret::ir
