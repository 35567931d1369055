// SPDX-License-Identifier: Apache-2.0
#include "ir/nest/nest_builder.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "ir/core/element_ops.h"
#include "ir/core/integer_arithmetic.h"

namespace egret::ir {

using Kind = IndexSymbol::Kind;

NestBuilder::NestBuilder(const TermGraph& graph, std::span<const Shape> inputs, Precision precision,
                         std::vector<VariableDigits>& digits)
    : graph_(graph),
      inputs_(inputs),
      precision_(precision),
      digits_(digits),
      indices_(graph.terms.size()),
      guards_(graph.terms.size(), -1),
      scalars_(graph.terms.size(), -1),
      bound_(static_cast<std::size_t>(graph.var_count)),
      variables_(static_cast<std::size_t>(graph.var_count)) {}

// Lowers the definition for one box of the output. All tables are memos by term, so each term is
// lowered once: the cost is linear in the number of terms, apart from intern().
base::Status NestBuilder::build(const Shape& output, const OutputBox& box) {
  nest_.cuts.resize(output.size());
  const Shape strides = row_major_strides(output);
  for (std::size_t axis = 0; axis < output.size(); ++axis) {
    // Variables start at 0; the box's low corner becomes the constant of the position.
    const Affine position = bind(graph_.vars[axis], box.high[axis] - box.low[axis],
                                 static_cast<int>(axis), box.low[axis], nest_.output_variables) +
                            box.low[axis];
    variables_[static_cast<std::size_t>(graph_.vars[axis])] = position;
    nest_.output = nest_.output + position * strides[axis];
  }
  nest_.root = scalar(graph_.root);
  if (nest_.variables.size() > static_cast<std::size_t>(kMaxVariables)) {
    return base::unsupported("a definition with more than " + std::to_string(kMaxVariables) +
                             " loops");
  }
  for (auto& cuts : nest_.cuts) {
    std::ranges::sort(cuts);
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  }
  return status_;
}

// Makes the loop variables of an index variable and returns its value as an affine form of them. A
// variable that is divided somewhere has several digits (mixed radix), each a loop of its own, so
// that quotients and remainders become affine.
Affine NestBuilder::bind(int var, std::int64_t extent, int output_axis, std::int64_t output_low,
                         std::vector<int>& made) {
  VariableDigits& digits = digits_[static_cast<std::size_t>(var)];
  if (digits.empty()) digits.push_back({extent, 1});
  Affine value;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    // A digit of extent 1 is always 0 and gets no loop.
    if (digits[i].extent == 1) continue;
    IndexSymbol symbol;
    symbol.ordinal = static_cast<int>(nest_.variables.size());
    symbol.extent = digits[i].extent;
    symbol.range = {0, digits[i].extent - 1};
    // The clamp keeps the shift defined. build() refuses a nest with so many loops.
    symbol.depends = VariableSet{1} << std::min(symbol.ordinal, 63);
    const int id = static_cast<int>(nest_.symbols.size());
    nest_.symbols.push_back(symbol);
    nest_.variables.push_back(id);
    // The origin leads from a symbol back to its index variable and digit, for cuts and splits.
    origins_.resize(nest_.symbols.size());
    origins_.back() = {var, i, digits.size() == 1 ? output_axis : -1, output_low};
    made.push_back(id);
    value = value + Affine::of_symbol(id) * digits[i].weight;
  }
  return value;
}

// ---- Index expressions

// Interval arithmetic: the range contains all values of the form, and may be larger where symbols
// depend on each other.
Range NestBuilder::range_of(const Affine& form) const {
  Range range{form.constant, form.constant};
  for (const auto& part : form.parts) range = range + nest_.symbol(part.symbol).range * part.factor;
  return range;
}

VariableSet NestBuilder::depends_on(const Affine& form) const {
  VariableSet set = 0;
  for (const auto& part : form.parts) set |= nest_.symbol(part.symbol).depends;
  return set;
}

bool NestBuilder::from_data(const Affine& form) const {
  return std::ranges::any_of(form.parts,
                             [&](const auto& part) { return nest_.symbol(part.symbol).from_data; });
}

// Equal operations on equal forms share one symbol, so that their sums cancel. A nest has few
// symbols, so the search is linear.
int NestBuilder::intern(IndexSymbol symbol) {
  for (std::size_t i = 0; i < nest_.symbols.size(); ++i) {
    const IndexSymbol& other = nest_.symbols[i];
    if (other.kind == symbol.kind && other.a == symbol.a && other.b == symbol.b &&
        other.element == symbol.element && symbol.kind != Kind::kVariable) {
      return static_cast<int>(i);
    }
  }
  symbol.depends |= depends_on(symbol.a) | depends_on(symbol.b);
  symbol.from_data = symbol.from_data || from_data(symbol.a) || from_data(symbol.b);
  nest_.symbols.push_back(std::move(symbol));
  origins_.resize(nest_.symbols.size());
  return static_cast<int>(nest_.symbols.size()) - 1;
}

Affine NestBuilder::index(TermId id) {
  auto& made = indices_[static_cast<std::size_t>(id)];
  if (!made) made = lower_index(graph_[id]);
  return *made;
}

Affine NestBuilder::lower_index(const Term& term) {
  const auto kid = [&](std::size_t i) { return index(term.kids[i]); };
  switch (term.op) {
    case ExprOp::kIndexConst: return term.integer;
    case ExprOp::kVar: {
      const auto& value = variables_[static_cast<std::size_t>(term.integer)];
      EGRET_CHECK(value.has_value(), "an index variable outside of its reduction");
      return *value;
    }
    case ExprOp::kIndexAdd: return kid(0) + kid(1);
    case ExprOp::kIndexMul: return product(kid(0), kid(1));
    case ExprOp::kIndexDiv: return quotient(kid(0), kid(1));
    case ExprOp::kIndexMod: {
      const Affine a = kid(0);
      const Affine b = kid(1);
      // a mod b = a - (a div b) * b. A remainder thus needs no symbol of its own, and it cancels
      // against a quotient of the same operands.
      if (b.is_constant() && b.constant > 0) return a - quotient(a, b) * b.constant;
      const Range range{0, std::max<std::int64_t>(range_of(b).high - 1, 0)};
      return Affine::of_symbol(intern({.kind = Kind::kMod, .a = a, .b = b, .range = range}));
    }
    case ExprOp::kIndexMin:
    case ExprOp::kIndexMax: return extremum(term.op, kid(0), kid(1));
    case ExprOp::kIndexOf: {
      IndexSymbol symbol;
      symbol.kind = Kind::kElement;
      symbol.element = scalar(term.kids[0]);
      // An index that is read from a tensor can be any integer.
      symbol.range = Range{INT64_MIN, INT64_MAX} + Range{};  // saturated
      symbol.depends = nest_.node(symbol.element).depends;
      symbol.from_data = true;
      return Affine::of_symbol(intern(std::move(symbol)));
    }
    default: break;
  }
  EGRET_CHECK(false, "not an index");
  return 0;
}

// A product of two forms that both vary is no affine form: it becomes a symbol.
Affine NestBuilder::product(const Affine& a, const Affine& b) {
  if (b.is_constant()) return a * b.constant;
  if (a.is_constant()) return b * a.constant;
  const Range range = range_of(a) * range_of(b);
  return Affine::of_symbol(intern({.kind = Kind::kMul, .a = a, .b = b, .range = range}));
}

// The sign of a - b over the ranges often decides the extremum (clamped indices away from borders).
Affine NestBuilder::extremum(ExprOp op, const Affine& a, const Affine& b) {
  const Affine difference = a - b;
  const Range range = range_of(difference);
  const bool is_min = op == ExprOp::kIndexMin;
  if (range.high <= 0) return is_min ? a : b;
  if (range.low >= 0) return is_min ? b : a;
  note_cut(difference, /*equality=*/false);
  const Range of_a = range_of(a);
  const Range of_b = range_of(b);
  const Range joint = is_min ? Range{std::min(of_a.low, of_b.low), std::min(of_a.high, of_b.high)}
                             : Range{std::max(of_a.low, of_b.low), std::max(of_a.high, of_b.high)};
  const Kind kind = is_min ? Kind::kMin : Kind::kMax;
  return Affine::of_symbol(intern({.kind = kind, .a = a, .b = b, .range = joint}));
}

// floor(a / b). For b = d constant: the multiples of d leave, then common factors; and
// floor((floor(x/e) + k) / d) = floor((x + k*e) / (d*e)).
Affine NestBuilder::quotient(const Affine& a, const Affine& b) {
  if (!b.is_constant() || b.constant <= 0) {
    const Range of_a = range_of(a);
    const Range range{std::min<std::int64_t>(of_a.low, 0), std::max<std::int64_t>(of_a.high, 0)};
    return Affine::of_symbol(intern({.kind = Kind::kDiv, .a = a, .b = b, .range = range}));
  }
  std::int64_t d = b.constant;
  Affine whole(euclidean_div(a.constant, d));
  Affine rest(a.constant - whole.constant * d);
  // Separate a = d*whole + rest; the division of rest alone remains.
  for (const auto& part : a.parts) {
    Affine own = Affine::of_symbol(part.symbol) * part.factor;
    if (part.factor % d == 0) {
      whole = whole + Affine::of_symbol(part.symbol) * (part.factor / d);
    } else {
      rest = rest + own;
    }
  }
  const Range range = range_of(rest);
  // div(rest, d) is 0: this cancels the unflatten of a flattened index.
  if (range.low >= 0 && range.high < d) return whole;

  std::int64_t common = d;
  for (const auto& part : rest.parts) common = std::gcd(common, part.factor);
  // With g = gcd(d, factors): floor((g*x + c) / d) = floor((x + floor(c/g)) / (d/g)), because both
  // numerators lie in the same interval [g*k, g*(k+1)).
  if (common > 1) {
    Affine reduced(euclidean_div(rest.constant, common));
    for (const auto& part : rest.parts) {
      reduced = reduced + Affine::of_symbol(part.symbol) * (part.factor / common);
    }
    return whole + quotient(reduced, Affine(d / common));
  }
  if (rest.parts.size() == 1 && rest.parts[0].factor == 1) {
    const IndexSymbol& only = nest_.symbol(rest.parts[0].symbol);
    // Nested floor divisions join. The bounds on the divisors keep their product below 2^62.
    if (only.kind == Kind::kDiv && only.b.is_constant() && only.b.constant > 0 &&
        only.b.constant < (std::int64_t{1} << 31) && d < (std::int64_t{1} << 31)) {
      return whole +
             quotient(only.a + rest.constant * only.b.constant, Affine(only.b.constant * d));
    }
    const Origin& origin = origins_[static_cast<std::size_t>(rest.parts[0].symbol)];
    // A bare variable over a divisor of its extent: ask loop_nest() for the split and rebuild.
    if (only.kind == Kind::kVariable && rest.constant == 0 && only.extent % d == 0) {
      splits_.push_back({origin.var, origin.digit, d});
    }
  }
  const Range quotient_range{euclidean_div(range.low, d), euclidean_div(range.high, d)};
  return whole + Affine::of_symbol(intern(
                     {.kind = Kind::kDiv, .a = rest, .b = Affine(d), .range = quotient_range}));
}

// Remembers where the sign (or zero) of a form in one output variable changes.
void NestBuilder::note_cut(const Affine& form, bool equality) {
  if (form.parts.size() != 1) return;
  const Origin& origin = origins_[static_cast<std::size_t>(form.parts[0].symbol)];
  if (origin.output_axis < 0) return;
  const std::int64_t extent = nest_.extent(form.parts[0].symbol);
  auto& cuts = nest_.cuts[static_cast<std::size_t>(origin.output_axis)];
  const auto note = [&](std::int64_t v) {
    if (v > 0 && v < extent) cuts.push_back(origin.output_low + v);
  };
  const std::int64_t f = form.parts[0].factor;
  const std::int64_t c = form.constant;
  // Their negation overflows.
  if (f == INT64_MIN || c == INT64_MIN) return;
  // form == 0 holds for one value of v: isolate it with a cut on either side.
  if (equality) {
    if (c % f != 0) return;
    note(-c / f);
    note(-c / f + 1);
    // f*v + c <= 0 holds up to v = floor(-c/f), so the cut is one above. For negative f it holds
    // from ceil(c/-f) on, and the cut lies there.
  } else if (f > 0) {
    note(euclidean_div(-c, f) + 1);
  } else {
    note(-euclidean_div(-c, -f));
  }
}

// ---- Guards

int NestBuilder::add(NestGuard guard) {
  nest_.guards.push_back(std::move(guard));
  return static_cast<int>(nest_.guards.size()) - 1;
}

int NestBuilder::guard(TermId id) {
  int& made = guards_[static_cast<std::size_t>(id)];
  if (made < 0) {
    const int lowered = lower_guard(graph_[id]);
    guards_[static_cast<std::size_t>(id)] = lowered;
    return lowered;
  }
  return made;
}

// The range of the form decides most guards of padding-free windows and of inner boxes.
int NestBuilder::comparison(NestGuard::Kind kind, const Affine& form) {
  const Range range = range_of(form);
  NestGuard made{.kind = kind, .form = form, .depends = depends_on(form)};
  if (kind == NestGuard::Kind::kLe) {
    if (range.high <= 0) return add(NestGuard{.kind = NestGuard::Kind::kTrue});
    if (range.low > 0) return add(NestGuard{.kind = NestGuard::Kind::kFalse});
    note_cut(form, /*equality=*/false);
  } else {
    if (range.low > 0 || range.high < 0) return add(NestGuard{.kind = NestGuard::Kind::kFalse});
    if (range.low == 0 && range.high == 0) return add(NestGuard{.kind = NestGuard::Kind::kTrue});
    note_cut(form, /*equality=*/true);
  }
  return add(std::move(made));
}

// Constant guards fold away. The order of the others is kept: the first may protect the second.
int NestBuilder::conjunction(int a, int b) {
  if (nest_.guard(a).kind == NestGuard::Kind::kTrue) return b;
  if (nest_.guard(b).kind == NestGuard::Kind::kTrue) return a;
  if (nest_.guard(a).kind == NestGuard::Kind::kFalse) return a;
  if (nest_.guard(b).kind == NestGuard::Kind::kFalse) return b;
  const VariableSet depends = nest_.guard(a).depends | nest_.guard(b).depends;
  return add(NestGuard{.kind = NestGuard::Kind::kAnd, .a = a, .b = b, .depends = depends});
}

// The second operand of "and" and "or" is lowered only if the first leaves the answer open.
int NestBuilder::lower_guard(const Term& term) {
  using G = NestGuard::Kind;
  switch (term.op) {
    case ExprOp::kGuardConst:
      return add(NestGuard{.kind = term.integer != 0 ? G::kTrue : G::kFalse});
    case ExprOp::kIndexLe: return comparison(G::kLe, index(term.kids[0]) - index(term.kids[1]));
    case ExprOp::kIndexEq: return comparison(G::kEq, index(term.kids[0]) - index(term.kids[1]));
    case ExprOp::kAnd: {
      const int a = guard(term.kids[0]);
      if (nest_.guard(a).kind == G::kFalse) return a;
      return conjunction(a, guard(term.kids[1]));
    }
    case ExprOp::kOr: {
      const int a = guard(term.kids[0]);
      if (nest_.guard(a).kind == G::kTrue) return a;
      const int b = guard(term.kids[1]);
      if (nest_.guard(a).kind == G::kFalse || nest_.guard(b).kind == G::kTrue) return b;
      if (nest_.guard(b).kind == G::kFalse) return a;
      const VariableSet depends = nest_.guard(a).depends | nest_.guard(b).depends;
      return add(NestGuard{.kind = G::kOr, .a = a, .b = b, .depends = depends});
    }
    case ExprOp::kNot: {
      const int a = guard(term.kids[0]);
      const NestGuard& of = nest_.guard(a);
      if (of.kind == G::kTrue) return add(NestGuard{.kind = G::kFalse});
      if (of.kind == G::kFalse) return add(NestGuard{.kind = G::kTrue});
      // Over integers, not(f <= 0) is 1 - f <= 0.
      if (of.kind == G::kLe) return comparison(G::kLe, Affine(1) - of.form);
      if (of.kind == G::kNot) return of.a;
      return add(NestGuard{.kind = G::kNot, .a = a, .depends = of.depends});
    }
    default: break;
  }
  NestGuard made;
  made.kind = term.op == ExprOp::kScalarLt   ? G::kScalarLt
              : term.op == ExprOp::kScalarLe ? G::kScalarLe
                                             : G::kScalarEq;
  made.a = scalar(term.kids[0]);
  made.b = scalar(term.kids[1]);
  made.depends = nest_.node(made.a).depends | nest_.node(made.b).depends;
  return add(std::move(made));
}

// ---- Scalars

int NestBuilder::add(NestNode node) {
  for (const int kid : node.kids) node.depends |= nest_.node(kid).depends;
  if (node.guard >= 0) node.depends |= nest_.guard(node.guard).depends;
  node.depends |= depends_on(node.form);
  // A reduction binds its variables: the result does not depend on them.
  for (const int symbol : node.variables) node.depends &= ~nest_.symbol(symbol).depends;
  nest_.nodes.push_back(std::move(node));
  return static_cast<int>(nest_.nodes.size()) - 1;
}

int NestBuilder::scalar(TermId id) {
  if (scalars_[static_cast<std::size_t>(id)] < 0) {
    const int lowered = lower_scalar(graph_[id]);
    scalars_[static_cast<std::size_t>(id)] = lowered;
  }
  return scalars_[static_cast<std::size_t>(id)];
}

int NestBuilder::lower_scalar(const Term& term) {
  NestNode node{.op = term.op, .function = term.function, .type = term.type};
  switch (term.op) {
    case ExprOp::kConst:
      node.real = term.real;
      if (!term.is_real()) node.integer = real_to_integer(term.type, term.real);
      break;
    case ExprOp::kRead: return lower_read(term);
    case ExprOp::kCast: return lower_cast(term);
    case ExprOp::kReduce: return lower_reduce(term);
    case ExprOp::kScalarOf:
      node.form = index(term.kids[0]);
      if (node.form.is_constant()) {
        node.op = ExprOp::kConst;
        node.integer = wrap(term.type, node.form.constant);
        node.real = static_cast<double>(node.form.constant);
        node.form = Affine();
      }
      break;
    case ExprOp::kSelect: {
      node.guard = guard(term.kids[0]);
      // A decided guard removes the select, and the other arm is not lowered at all. This is how
      // inner boxes lose their padding.
      const auto kind = nest_.guard(node.guard).kind;
      if (kind == NestGuard::Kind::kTrue) return scalar(term.kids[1]);
      if (kind == NestGuard::Kind::kFalse) return scalar(term.kids[2]);
      const int chosen = scalar(term.kids[1]);
      node.kids = {chosen, scalar(term.kids[2])};
      break;
    }
    default:
      for (const TermId kid : term.kids) node.kids.push_back(scalar(kid));
      break;
  }
  return add(std::move(node));
}

// Flattens the index of a read into one affine offset; `axes` keeps the index by axis.
int NestBuilder::lower_read(const Term& term) {
  const Shape& shape = inputs_[static_cast<std::size_t>(term.integer)];
  const Shape strides = row_major_strides(shape);
  NestNode node{.op = ExprOp::kRead, .type = term.type};
  node.input = static_cast<int>(term.integer);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const Affine at = index(term.kids[axis]);
    node.form = node.form + at * strides[axis];
    node.axes.push_back(at);
    // Proven indices need no check; an index that comes from data can be anything.
    if (from_data(at)) node.checked.push_back({at, static_cast<int>(axis), shape[axis]});
  }
  for (const auto& checked : node.checked) node.depends |= depends_on(checked.index);
  return add(std::move(node));
}

int NestBuilder::lower_cast(const Term& term) {
  const int kid = scalar(term.kids[0]);
  const NestNode& from = nest_.node(kid);
  // In f64 precision an f32 value stays wide, and a cast that rounds nothing disappears.
  const bool rounds = term.cast == DType::kF16 || term.cast == DType::kBF16 ||
                      (term.cast == DType::kF32 && precision_ == Precision::kF32);
  if (from.is_real() && term.is_real() && !rounds) return kid;
  if (!from.is_real() && from.type == term.type) return kid;
  NestNode node{.op = ExprOp::kCast, .type = term.type, .cast = term.cast};
  node.kids.push_back(kid);
  return add(std::move(node));
}

int NestBuilder::identity_of(const Term& term) {
  NestNode node{.op = ExprOp::kConst, .type = term.type};
  node.real = ElementOps<double>::identity(term.type, term.reduction);
  if (!term.is_real()) {
    node.integer = ElementOps<std::int64_t>::identity(term.type, term.reduction);
  }
  return add(std::move(node));
}

bool NestBuilder::is_identity(const NestNode& node, Reduction reduction) {
  if (node.op != ExprOp::kConst) return false;
  return node.is_real() ? node.real == ElementOps<double>::identity(node.type, reduction)
                        : node.integer == ElementOps<std::int64_t>::identity(node.type, reduction);
}

// A reduction whose body is a reduction of the same kind becomes one node with the variables of
// both: kernels can then choose the order of all its loops.
int NestBuilder::lower_reduce(const Term& term) {
  const auto var = static_cast<std::size_t>(graph_[term.kids[0]].integer);
  const Affine extent = index(term.kids[1]);
  // An extent that varies is replaced by its bound and a guard.
  const std::int64_t bound = extent.is_constant() ? extent.constant : range_of(extent).high;
  if (bound <= 0) return identity_of(term);
  // Two reductions over the same index variable share the loop variable.
  if (!variables_[var]) {
    variables_[var] = bind(static_cast<int>(var), bound, -1, 0, bound_[var]);
    // build() reports this as an error; the value returned here is never used.
    if (nest_.variables.size() > static_cast<std::size_t>(kMaxVariables)) return identity_of(term);
  }
  NestNode node{.op = ExprOp::kReduce, .reduction = term.reduction, .type = term.type};
  node.guard = guard(term.kids[2]);
  if (!extent.is_constant()) {
    node.guard =
        conjunction(comparison(NestGuard::Kind::kLe, *variables_[var] - extent + 1), node.guard);
  }
  if (nest_.guard(node.guard).kind == NestGuard::Kind::kFalse) return identity_of(term);
  int body = scalar(term.kids[3]);
  // What is selected to be the identity may as well be left out.
  if (nest_.node(body).op == ExprOp::kSelect &&
      is_identity(nest_.node(nest_.node(body).kids[1]), term.reduction)) {
    node.guard = conjunction(node.guard, nest_.node(body).guard);
    body = nest_.node(body).kids[0];
  }
  node.variables = bound_[var];
  node.kids.push_back(body);
  const NestNode& inner = nest_.node(body);
  VariableSet own = 0;
  for (const int symbol : node.variables) own |= nest_.symbol(symbol).depends;
  // An inner reduction that does not depend on this one is better computed once.
  if (inner.op == ExprOp::kReduce && inner.reduction == term.reduction &&
      (node.variables.empty() || (inner.depends & own) == own)) {
    node.variables.insert(node.variables.end(), inner.variables.begin(), inner.variables.end());
    node.guard = conjunction(node.guard, inner.guard);
    node.kids[0] = inner.kids[0];
  }
  // All extents are 1 (no loop variable): the reduction is its body, guarded by a select.
  if (!node.variables.empty()) return add(std::move(node));
  if (nest_.guard(node.guard).kind == NestGuard::Kind::kTrue) return node.kids[0];
  node.op = ExprOp::kSelect;
  node.kids.push_back(identity_of(term));
  return add(std::move(node));
}

}  // namespace egret::ir
