// SPDX-License-Identifier: Apache-2.0
// The table of functions and infix operators of rule expressions.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ir/core/symbolic_scope.h"
#include "rules/language/expression.h"
#include "rules/language/index_numbers.h"

namespace egret::rules {
namespace {

using ir::AttrValue;
using ir::Integers;
using Value = std::optional<AttrValue>;
using Tensors = std::span<const Environment::Tensor>;
using Values = const ExprArguments&;

Value truth(bool value) { return AttrValue(std::int64_t{value}); }
const std::int64_t* integer(const AttrValue& value) { return std::get_if<std::int64_t>(&value); }
const Integers* list(const AttrValue& value) { return std::get_if<Integers>(&value); }
std::optional<double> number(const AttrValue& value) {
  if (const auto* i = integer(value)) return static_cast<double>(ir::concrete_integer(*i));
  if (const auto* d = std::get_if<double>(&value)) return *d;
  return std::nullopt;
}

// Symbolic integers (ir/core/symbolic_scope.h) take part in arithmetic. A comparison gives the
// example's answer and records it as a condition. Where a concrete number is needed, the example's
// value is used.
bool symbolic(std::int64_t a, std::int64_t b) { return ir::is_symbolic(a) || ir::is_symbolic(b); }
bool decide(ir::Guard guard) {
  ir::SymbolicScope* scope = ir::SymbolicScope::current();
  return scope != nullptr ? scope->decide(guard) : guard.is_true();
}
ir::Index index(std::int64_t a) { return ir::index_of_integer(a); }
bool same(std::int64_t a, std::int64_t b) {
  return symbolic(a, b) ? decide(index(a) == index(b)) : a == b;
}
bool before(std::int64_t a, std::int64_t b) {
  return symbolic(a, b) ? decide(index(a) < index(b)) : a < b;
}
// A concrete number, where structure (a rank, a position) depends on it.
std::optional<std::int64_t> number_of(const AttrValue& value) {
  const auto* i = integer(value);
  return i != nullptr ? std::optional(ir::concrete_integer(*i)) : std::nullopt;
}

// A position in a list of n elements; negative positions count from the end.
std::optional<std::size_t> position(std::int64_t i, std::size_t n) {
  const auto size = static_cast<std::int64_t>(n);
  if (i < 0) i += size;
  if (i < 0 || i >= size) return std::nullopt;
  return static_cast<std::size_t>(i);
}

// ---- arithmetic on integers, reals, and lists of integers element by element ----

using IntegerOp = std::optional<std::int64_t> (*)(std::int64_t, std::int64_t);
using RealOp = double (*)(double, double);
using IndexOp = ir::Index (*)(ir::Index, ir::Index);

Value arithmetic(Values v, IntegerOp on_numbers, IndexOp on_indices, RealOp on_reals) {
  const auto on_integers = [&](std::int64_t x, std::int64_t y) -> std::optional<std::int64_t> {
    if (!symbolic(x, y)) return on_numbers(x, y);
    return ir::SymbolicScope::current()->integer_of(on_indices(index(x), index(y)));
  };
  const auto* a = integer(v[0]);
  const auto* b = integer(v[1]);
  const auto as_value = [](std::optional<std::int64_t> x) -> Value {
    return x ? Value(AttrValue(*x)) : std::nullopt;
  };
  if (a != nullptr && b != nullptr) return as_value(on_integers(*a, *b));
  const Integers* as = list(v[0]);
  const Integers* bs = list(v[1]);
  if (as != nullptr || bs != nullptr) {
    if ((as == nullptr && a == nullptr) || (bs == nullptr && b == nullptr)) return std::nullopt;
    if (as != nullptr && bs != nullptr && as->size() != bs->size()) return std::nullopt;
    Integers result;
    for (std::size_t i = 0; i < (as != nullptr ? as : bs)->size(); ++i) {
      const auto element =
          on_integers(as != nullptr ? (*as)[i] : *a, bs != nullptr ? (*bs)[i] : *b);
      if (!element) return std::nullopt;
      result.push_back(*element);
    }
    return AttrValue(std::move(result));
  }
  const auto x = number(v[0]);
  const auto y = number(v[1]);
  if (!x || !y) return std::nullopt;
  return AttrValue(on_reals(*x, *y));
}

using Limit = std::numeric_limits<std::int64_t>;

Value add(Tensors, Values v) {
  return arithmetic(
      v,
      [](std::int64_t a, std::int64_t b) -> std::optional<std::int64_t> {
        std::int64_t r = 0;
        return __builtin_add_overflow(a, b, &r) ? std::nullopt : std::optional(r);
      },
      [](ir::Index a, ir::Index b) { return a + b; }, [](double a, double b) { return a + b; });
}
Value subtract(Tensors, Values v) {
  return arithmetic(
      v,
      [](std::int64_t a, std::int64_t b) -> std::optional<std::int64_t> {
        std::int64_t r = 0;
        return __builtin_sub_overflow(a, b, &r) ? std::nullopt : std::optional(r);
      },
      [](ir::Index a, ir::Index b) { return a - b; }, [](double a, double b) { return a - b; });
}
Value multiply(Tensors, Values v) {
  return arithmetic(
      v,
      [](std::int64_t a, std::int64_t b) -> std::optional<std::int64_t> {
        std::int64_t r = 0;
        return __builtin_mul_overflow(a, b, &r) ? std::nullopt : std::optional(r);
      },
      [](ir::Index a, ir::Index b) { return a * b; }, [](double a, double b) { return a * b; });
}
// A symbolic divisor must be positive, which becomes a condition. For concrete divisors, each
// operation checks it itself.
bool positive_divisor(const AttrValue& divisor) {
  const auto positive = [](std::int64_t d) {
    return !ir::is_symbolic(d) || decide(index(d) >= ir::Index(1));
  };
  if (const auto* i = integer(divisor)) return positive(*i);
  const Integers* l = list(divisor);
  return l == nullptr || std::ranges::all_of(*l, positive);
}
// Euclidean division on integers, with a positive divisor.
Value divide(Tensors, Values v) {
  if (!positive_divisor(v[1])) return std::nullopt;
  return arithmetic(
      v,
      [](std::int64_t a, std::int64_t b) -> std::optional<std::int64_t> {
        if (b <= 0) return std::nullopt;
        return a / b - (a % b < 0 ? 1 : 0);
      },
      [](ir::Index a, ir::Index b) { return ir::div(a, b); },
      [](double a, double b) { return a / b; });
}
Value remainder(Tensors, Values v) {
  if (!positive_divisor(v[1])) return std::nullopt;
  return arithmetic(
      v,
      [](std::int64_t a, std::int64_t b) -> std::optional<std::int64_t> {
        if (b <= 0) return std::nullopt;
        return ((a % b) + b) % b;
      },
      [](ir::Index a, ir::Index b) { return ir::mod(a, b); },
      [](double, double) { return std::nan(""); });
}
Value minimum(Tensors, Values v) {
  return arithmetic(
      v,
      [](std::int64_t a, std::int64_t b) -> std::optional<std::int64_t> { return std::min(a, b); },
      [](ir::Index a, ir::Index b) { return ir::min(a, b); },
      [](double a, double b) { return std::min(a, b); });
}
Value maximum(Tensors, Values v) {
  return arithmetic(
      v,
      [](std::int64_t a, std::int64_t b) -> std::optional<std::int64_t> { return std::max(a, b); },
      [](ir::Index a, ir::Index b) { return ir::max(a, b); },
      [](double a, double b) { return std::max(a, b); });
}

// ---- comparison ----

// The value as an index, if it is a whole number or stands for one.
std::optional<ir::Index> as_index(const AttrValue& value) {
  constexpr double kMost = 1e15;
  if (const auto* i = integer(value)) return index(*i);
  const auto* real = std::get_if<double>(&value);
  if (real == nullptr) return std::nullopt;
  if (const auto stands_for = IndexNumbers::of(*real)) return stands_for;
  if (std::abs(*real) > kMost || *real != std::trunc(*real)) return std::nullopt;
  return ir::Index(static_cast<std::int64_t>(*real));
}

// Two indices to compare, if one of the values depends on symbols and both are whole.
struct IndexPair {
  ir::Index a, b;
};
std::optional<IndexPair> as_open_indices(const AttrValue& a, const AttrValue& b) {
  const auto x = as_index(a);
  const auto y = as_index(b);
  if (!x || !y || (x->is_constant() && y->is_constant())) return std::nullopt;
  return IndexPair{*x, *y};
}

bool equal_values(const AttrValue& a, const AttrValue& b) {
  if (integer(a) != nullptr && integer(b) != nullptr) return same(*integer(a), *integer(b));
  if (list(a) != nullptr && list(b) != nullptr) {
    return std::ranges::equal(*list(a), *list(b), same);
  }
  if (const auto open = as_open_indices(a, b)) return decide(open->a == open->b);
  const auto x = number(a);
  const auto y = number(b);
  return x && y ? *x == *y : a == b;
}
Value equal(Tensors, Values v) { return truth(equal_values(v[0], v[1])); }
Value unequal(Tensors, Values v) { return truth(!equal_values(v[0], v[1])); }

template <typename Compare>
Value compare(Values v, Compare holds) {
  if (const auto* a = integer(v[0]), *b = integer(v[1]); a != nullptr && b != nullptr) {
    if (symbolic(*a, *b)) return truth(decide(holds(index(*a), index(*b))));
    return truth(holds(*a, *b));
  }
  if (const auto open = as_open_indices(v[0], v[1])) return truth(decide(holds(open->a, open->b)));
  const auto x = number(v[0]);
  const auto y = number(v[1]);
  return x && y ? truth(holds(*x, *y)) : std::nullopt;
}
Value less(Tensors, Values v) { return compare(v, std::less<>()); }
Value less_equal(Tensors, Values v) { return compare(v, std::less_equal<>()); }
Value greater(Tensors, Values v) { return compare(v, std::greater<>()); }
Value greater_equal(Tensors, Values v) { return compare(v, std::greater_equal<>()); }
Value negation(Tensors, Values v) {
  const auto* i = integer(v[0]);
  return i != nullptr ? truth(*i == 0) : std::nullopt;
}

// ---- tensors ----

// A size as an integer; nullopt for a symbol without an example in the current scope.
std::optional<std::int64_t> integer_of(ir::Index size) {
  if (size.is_constant()) return size.constant();
  ir::SymbolicScope* scope = ir::SymbolicScope::current();
  if (scope == nullptr || !ir::evaluate(size, scope->examples())) return std::nullopt;
  return scope->integer_of(size);
}
std::optional<Integers> sizes_of(const ir::TensorType& type) {
  Integers sizes;
  for (const ir::Index& dim : type.dims) {
    const auto size = integer_of(dim);
    if (!size) return std::nullopt;
    sizes.push_back(*size);
  }
  return sizes;
}

Value rank(Tensors t, Values) { return AttrValue(std::int64_t{t[0].facts->type.rank()}); }
Value dim(Tensors t, Values v) {
  const auto i = number_of(v[0]);
  const auto& dims = t[0].facts->type.dims;
  const auto at = i ? position(*i, dims.size()) : std::nullopt;
  const auto size = at ? integer_of(dims[*at]) : std::nullopt;
  return size ? Value(AttrValue(*size)) : std::nullopt;
}
Value shape(Tensors t, Values) {
  auto sizes = sizes_of(t[0].facts->type);
  return sizes ? Value(AttrValue(*std::move(sizes))) : std::nullopt;
}
Value elements(Tensors t, Values) {
  if (t[0].facts->type.is_concrete()) return AttrValue(t[0].facts->type.elements());
  const auto sizes = sizes_of(t[0].facts->type);
  if (!sizes) return std::nullopt;
  ir::Index all = 1;
  for (const std::int64_t size : *sizes) all = all * index(size);
  return AttrValue(*integer_of(all));
}
Value dtype(Tensors t, Values) {
  return AttrValue(std::string(ir::to_string(t[0].facts->type.dtype)));
}
Value is_float(Tensors t, Values) { return truth(ir::is_float(t[0].facts->type.dtype)); }
Value is_number(Tensors t, Values) { return truth(t[0].facts->type.dtype != ir::DType::kBool); }
Value constant(Tensors t, Values) { return truth(t[0].facts->constant); }
Value splat(Tensors t, Values v) {
  const auto value = number(v[0]);
  if (!value) return std::nullopt;
  // Constants are mostly stored in f32 or narrower types, while a rule writes 0.044715. Hence the
  // comparison is in f32.
  const auto& known = t[0].facts->splat;
  if (!known || t[0].facts->type.dtype == ir::DType::kF64) return truth(known == value);
  return truth(static_cast<float>(*known) == static_cast<float>(*value));
}
Value is_splat(Tensors t, Values) { return truth(t[0].facts->splat.has_value()); }
Value splat_of(Tensors t, Values) {
  return t[0].facts->splat ? Value(AttrValue(*t[0].facts->splat)) : std::nullopt;
}
Value nonnegative(Tensors t, Values) { return truth(t[0].facts->sign >= ir::Sign::kNotNegative); }
Value positive(Tensors t, Values) { return truth(t[0].facts->sign >= ir::Sign::kPositive); }
Value same_type(Tensors t, Values) {
  const ir::TensorType& a = t[0].facts->type;
  const ir::TensorType& b = t[1].facts->type;
  if (a.dtype != b.dtype || a.rank() != b.rank()) return truth(false);
  const auto x = sizes_of(a);
  const auto y = sizes_of(b);
  return truth(x && y ? std::ranges::equal(*x, *y, same) : a == b);
}
Value distinct(Tensors t, Values) { return truth(t[0].identity != t[1].identity); }
Value is_before(Tensors t, Values) { return truth(t[0].identity < t[1].identity); }

// ---- lists ----

Value at(Tensors, Values v) {
  const Integers* l = list(v[0]);
  const auto i = number_of(v[1]);
  if (l == nullptr || !i) return std::nullopt;
  const auto where = position(*i, l->size());
  return where ? Value(AttrValue((*l)[*where])) : std::nullopt;
}
Value joined(Tensors, Values v) {
  const Integers* a = list(v[0]);
  const Integers* b = list(v[1]);
  if (a == nullptr || b == nullptr) return std::nullopt;
  Integers result = *a;
  result.insert(result.end(), b->begin(), b->end());
  return AttrValue(std::move(result));
}
Value length(Tensors, Values v) {
  const Integers* l = list(v[0]);
  return l != nullptr ? Value(AttrValue(static_cast<std::int64_t>(l->size()))) : std::nullopt;
}
Value product(Tensors, Values v) {
  const Integers* l = list(v[0]);
  if (l == nullptr) return std::nullopt;
  std::int64_t result = 1;
  for (const std::int64_t element : *l) {
    if (symbolic(result, element)) {
      result = *integer_of(index(result) * index(element));
    } else if (__builtin_mul_overflow(result, element, &result)) {
      return std::nullopt;
    }
  }
  return AttrValue(result);
}
Value sum(Tensors, Values v) {
  const Integers* l = list(v[0]);
  if (l == nullptr) return std::nullopt;
  if (std::ranges::none_of(*l, ir::is_symbolic))
    return AttrValue(std::accumulate(l->begin(), l->end(), std::int64_t{0}));
  ir::Index total = 0;
  for (const std::int64_t element : *l) total = total + index(element);
  return AttrValue(*integer_of(total));
}
Value all(Tensors, Values v) {
  const Integers* l = list(v[0]);
  return l != nullptr ? truth(std::ranges::all_of(*l, [](auto x) { return !same(x, 0); }))
                      : std::nullopt;
}
Value any(Tensors, Values v) {
  const Integers* l = list(v[0]);
  return l != nullptr ? truth(std::ranges::any_of(*l, [](auto x) { return !same(x, 0); }))
                      : std::nullopt;
}
Value range(Tensors, Values v) {
  const auto n = number_of(v[0]);
  if (!n || *n < 0 || *n > 64) return std::nullopt;
  Integers result(static_cast<std::size_t>(*n));
  std::iota(result.begin(), result.end(), 0);
  return AttrValue(std::move(result));
}
Value repeat(Tensors, Values v) {
  const auto* value = integer(v[0]);
  const auto n = number_of(v[1]);
  if (value == nullptr || !n || *n < 0 || *n > 64) return std::nullopt;
  return AttrValue(Integers(static_cast<std::size_t>(*n), *value));
}
// l[begin:end]; negative positions count from the end.
Value part(Tensors, Values v) {
  const Integers* l = list(v[0]);
  const auto begin = number_of(v[1]);
  const auto end = number_of(v[2]);
  if (l == nullptr || !begin || !end) return std::nullopt;
  const auto size = static_cast<std::int64_t>(l->size());
  const std::int64_t b = *begin < 0 ? *begin + size : *begin;
  const std::int64_t e = *end < 0 ? *end + size : *end;
  if (b < 0 || e > size || b > e) return std::nullopt;
  return AttrValue(Integers(l->begin() + b, l->begin() + e));
}
Value with(Tensors, Values v) {
  const Integers* l = list(v[0]);
  const auto i = number_of(v[1]);
  const auto* value = integer(v[2]);
  if (l == nullptr || !i || value == nullptr) return std::nullopt;
  const auto where = position(*i, l->size());
  if (!where) return std::nullopt;
  Integers result = *l;
  result[*where] = *value;
  return AttrValue(std::move(result));
}
Value contains(Tensors, Values v) {
  const Integers* l = list(v[0]);
  const auto* value = integer(v[1]);
  if (l == nullptr || value == nullptr) return std::nullopt;
  return truth(std::ranges::any_of(*l, [&](std::int64_t x) { return same(x, *value); }));
}
Value index_of(Tensors, Values v) {
  const Integers* l = list(v[0]);
  const auto* value = integer(v[1]);
  if (l == nullptr || value == nullptr) return std::nullopt;
  const auto found = std::ranges::find_if(*l, [&](std::int64_t x) { return same(x, *value); });
  if (found == l->end()) return std::nullopt;
  return AttrValue(static_cast<std::int64_t>(found - l->begin()));
}
Value sorted(Tensors, Values v) {
  const Integers* l = list(v[0]);
  if (l == nullptr) return std::nullopt;
  Integers result = *l;
  std::ranges::sort(result, before);
  return AttrValue(std::move(result));
}
// compose(p, q)[i] = p[q[i]]: transposing by p and then by q transposes by compose(p, q).
Value compose(Tensors, Values v) {
  const Integers* p = list(v[0]);
  const Integers* q = list(v[1]);
  if (p == nullptr || q == nullptr) return std::nullopt;
  Integers result;
  for (const std::int64_t i : *q) {
    const auto where = position(ir::concrete_integer(i), p->size());
    if (!where) return std::nullopt;
    result.push_back((*p)[*where]);
  }
  return AttrValue(std::move(result));
}
Value inverse(Tensors, Values v) {
  const Integers* p = list(v[0]);
  if (p == nullptr) return std::nullopt;
  Integers result(p->size(), -1);
  for (std::size_t i = 0; i < p->size(); ++i) {
    const auto where = position(ir::concrete_integer((*p)[i]), p->size());
    if (!where || result[*where] != -1) return std::nullopt;
    result[*where] = static_cast<std::int64_t>(i);
  }
  return AttrValue(std::move(result));
}

// ---- reals ----

Value real(Tensors, Values v) {
  const auto x = number(v[0]);
  return x ? Value(AttrValue(*x)) : std::nullopt;
}
// A real that is a whole number, as an integer.
Value whole(Tensors, Values v) {
  const auto x = number(v[0]);
  if (!x || std::floor(*x) != *x || std::abs(*x) > 0x1p53) return std::nullopt;
  return AttrValue(static_cast<std::int64_t>(*x));
}
Value square_root(Tensors, Values v) {
  const auto x = number(v[0]);
  return x && *x >= 0 ? Value(AttrValue(std::sqrt(*x))) : std::nullopt;
}
Value negative(Tensors, Values v) {
  if (const auto* i = integer(v[0]); i != nullptr && ir::is_symbolic(*i))
    return AttrValue(*integer_of(ir::Index(0) - index(*i)));
  if (const auto* i = integer(v[0]); i != nullptr && *i != Limit::min()) return AttrValue(-*i);
  if (const auto* d = std::get_if<double>(&v[0])) return AttrValue(-*d);
  return std::nullopt;
}

// The name of an infix operator is its spelling; unary minus is "negative", and a[i] is "at".
constexpr ExprFunction kFunctions[] = {
    {"+", 0, 2, add, "sum; element by element on lists"},
    {"-", 0, 2, subtract, "difference"},
    {"*", 0, 2, multiply, "product"},
    {"/", 0, 2, divide, "quotient; Euclidean on integers, whose divisor must be positive"},
    {"%", 0, 2, remainder, "remainder of the Euclidean division"},
    {"++", 0, 2, joined, "two lists, one after the other"},
    {"==", 0, 2, equal, "equal values"},
    {"!=", 0, 2, unequal, "unequal values"},
    {"<", 0, 2, less, "less"},
    {"<=", 0, 2, less_equal, "less or equal"},
    {">", 0, 2, greater, "greater"},
    {">=", 0, 2, greater_equal, "greater or equal"},
    {"not", 0, 1, negation, "whether the condition is false"},
    {"negative", 0, 1, negative, "the number with its sign changed"},
    {"at", 0, 2, at, "an element of a list; negative positions count from the end"},
    {"rank", 1, 0, rank, "number of axes"},
    {"dim", 1, 1, dim, "size of an axis; negative axes count from the end"},
    {"shape", 1, 0, shape, "all sizes"},
    {"elements", 1, 0, elements, "product of all sizes"},
    {"dtype", 1, 0, dtype, "element type, as text"},
    {"is_float", 1, 0, is_float, "whether elements are floating-point numbers"},
    {"is_number", 1, 0, is_number, "whether elements are numbers, not truth values"},
    {"constant", 1, 0, constant, "whether the tensor depends on weights alone"},
    {"splat", 1, 1, splat, "whether all elements are known to be this number"},
    {"is_splat", 1, 0, is_splat, "whether all elements are known to be one number"},
    {"splat_of", 1, 0, splat_of, "the number that all elements are"},
    {"nonnegative", 1, 0, nonnegative, "whether all elements are known to be at least 0"},
    {"positive", 1, 0, positive, "whether all elements are known to be greater than 0"},
    {"same_type", 2, 0, same_type, "equal element types and shapes"},
    {"distinct", 2, 0, distinct, "not known to be the same tensor (heuristic)"},
    {"before", 2, 0, is_before, "an arbitrary total order of tensors (heuristic)"},
    {"min", 0, 2, minimum, "the smaller"},
    {"max", 0, 2, maximum, "the larger"},
    {"real", 0, 1, real, "an integer as a real number"},
    {"whole", 0, 1, whole, "a real that is a whole number, as an integer"},
    {"sqrt", 0, 1, square_root, "square root"},
    {"length", 0, 1, length, "number of elements of a list"},
    {"product", 0, 1, product, "product of a list"},
    {"sum", 0, 1, sum, "sum of a list"},
    {"all", 0, 1, all, "whether no element is 0"},
    {"any", 0, 1, any, "whether an element is not 0"},
    {"range", 0, 1, range, "[0, 1, ..., n - 1]"},
    {"repeat", 0, 2, repeat, "repeat(v, n): n times v"},
    {"part", 0, 3, part, "part(l, begin, end): the elements from begin up to, not with, end"},
    {"with", 0, 3, with, "with(l, i, v): the list with element i replaced by v"},
    {"contains", 0, 2, contains, "whether a list has an element"},
    {"index_of", 0, 2, index_of, "the first place of an element in a list"},
    {"sorted", 0, 1, sorted, "the list in ascending order"},
    {"compose", 0, 2, compose, "[p[q[0]], p[q[1]], ...]"},
    {"inverse", 0, 1, inverse, "the inverse of a permutation"},
};

}  // namespace

std::span<const ExprFunction> functions() { return kFunctions; }

const ExprFunction* find_function(std::string_view name) {
  const auto found = std::ranges::find(kFunctions, name, &ExprFunction::name);
  return found != std::end(kFunctions) ? found : nullptr;
}

}  // namespace egret::rules
