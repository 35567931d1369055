// SPDX-License-Identifier: Apache-2.0
#include "verifier/algebra/element_value.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include "verifier/algebra/factor_laws.h"
#include "verifier/algebra/infinity.h"
#include "verifier/algebra/rounded_constant.h"

namespace egret::verifier {

using base::Result;
using ir::ExprNode;
using ir::ExprOp;

namespace {

// Translates the expressions of one instantiated definition into sum form. context_ is the truth
// value of the path to the current expression, and bound_ its bound variables: both qualify each
// need.
class Translator {
 public:
  // Reads an element of an input and adds its needs.
  using Read = std::function<Sum(std::size_t, const std::vector<Polynomial>&, std::vector<Need>&)>;
  using Constant = std::function<Sum(double)>;

  // For indices and guards only.
  explicit Translator(AtomTable& atoms) : atoms_(atoms) {}
  // `written_out`: expand reductions over a known number of values.
  Translator(AtomTable& atoms, bool integers, bool written_out, std::vector<ir::DType> input_types,
             Read read, Constant constant)
      : atoms_(atoms),
        integers_(integers),
        written_out_(written_out),
        input_types_(std::move(input_types)),
        read_(std::move(read)),
        constant_(std::move(constant)) {}

  void bind(const ir::Index& variable, Polynomial value) {
    variables_[variable.node()] = std::move(value);
  }

  Polynomial index(const ExprNode& n) {
    const auto kid = [&](std::size_t i) { return index(*n.kids[i]); };
    switch (n.op) {
      case ExprOp::kIndexConst: return n.integer;
      case ExprOp::kSymbol: return Polynomial(atoms_.symbol(std::string(n.name)));
      case ExprOp::kVar: return variables_.at(&n);
      case ExprOp::kIndexAdd: return kid(0) + kid(1);
      case ExprOp::kIndexMul: return kid(0) * kid(1);
      case ExprOp::kIndexDiv: return atoms_.quotient(kid(0), kid(1));
      case ExprOp::kIndexMod: return atoms_.remainder(kid(0), kid(1));
      case ExprOp::kIndexMin: return atoms_.minimum(kid(0), kid(1));
      case ExprOp::kIndexMax: return atoms_.maximum(kid(0), kid(1));
      case ExprOp::kIndexOf: return index_of(scalar(*n.kids[0]));
      default: throw NotExpressible{"an index"};
    }
  }

  // The guard as a sum: 1 where it holds (or, if negated, does not hold), else 0.
  Sum truth(const ExprNode& n, bool negated) {
    const auto literal = [&](Literal l) {
      return guarded(constant_sum(1), {negated ? negation(l) : std::move(l)});
    };
    switch (n.op) {
      case ExprOp::kGuardConst: return constant_sum((n.integer != 0) != negated ? 1 : 0);
      case ExprOp::kIndexLe: return literal(less_equal(index(*n.kids[0]), index(*n.kids[1])));
      case ExprOp::kIndexEq: return literal(equal(index(*n.kids[0]), index(*n.kids[1])));
      case ExprOp::kNot: return truth(*n.kids[0], !negated);
      case ExprOp::kAnd:
      // By De Morgan's laws, a negated disjunction is a conjunction of negated parts, and the
      // reverse.
      case ExprOp::kOr: {
        const Sum first = truth(*n.kids[0], negated);
        if ((n.op == ExprOp::kAnd) != negated) return product(first, truth(*n.kids[1], negated));
        // A disjunction as disjoint cases, because truth values are added: [p] + [not p][q].
        return first + product(truth(*n.kids[0], !negated), truth(*n.kids[1], negated));
      }
      case ExprOp::kScalarLt: return comparison(Factor::Kind::kLess, n, negated);
      case ExprOp::kScalarLe: return comparison(Factor::Kind::kLessEqual, n, negated);
      case ExprOp::kScalarEq: return comparison(Factor::Kind::kEqual, n, negated);
      default: throw NotExpressible{"a guard"};
    }
  }

  Sum scalar(const ExprNode& n) {
    const auto kid = [&](std::size_t i) { return scalar(*n.kids[i]); };
    switch (n.op) {
      case ExprOp::kConst: return constant_(n.real);
      case ExprOp::kRead: {
        std::vector<Polynomial> at;
        for (const ExprNode* i : n.kids) at.push_back(index(*i));
        return read(static_cast<std::size_t>(n.integer), at);
      }
      case ExprOp::kAdd: return extended_sum(kid(0), kid(1));
      case ExprOp::kSub: return extended_sum(kid(0), scaled(kid(1), -1));
      case ExprOp::kMul: return extended_product(atoms_, kid(0), kid(1));
      case ExprOp::kNeg: return scaled(kid(0), -1);
      case ExprOp::kDiv: return divided(kid(0), kid(1));
      case ExprOp::kMin: return extended_extremum(atoms_, Factor::Kind::kMinimum, kid(0), kid(1));
      case ExprOp::kMax: return extended_extremum(atoms_, Factor::Kind::kMaximum, kid(0), kid(1));
      case ExprOp::kCall: {
        if (n.function == ir::Function::kExp) return extended_exponential(atoms_, kid(0));
        std::vector<Sum> arguments;
        for (const ExprNode* argument : n.kids)
          arguments.push_back(require_finite(scalar(*argument)));
        const bool integer_power = integers_ && n.function == ir::Function::kPow;
        Factor factor{.kind = Factor::Kind::kCall,
                      .number = integer_power ? 1 : 0,
                      .function = n.function,
                      .arguments = std::move(arguments)};
        need_domain(factor);
        return lawful(atoms_, std::move(factor));
      }
      case ExprOp::kSelect: return choice(*n.kids[0], *n.kids[1], *n.kids[2]);
      case ExprOp::kReduce: return reduction(n);
      case ExprOp::kScalarOf: return number(index(*n.kids[0]));
      case ExprOp::kCast: {
        const ExprNode& of = *n.kids[0];
        const bool same =
            of.op == ExprOp::kRead && input_types_[static_cast<std::size_t>(of.integer)] == n.dtype;
        return same ? kid(0) : cast(n.dtype, kid(0));
      }
      default: throw NotExpressible{"an expression"};
    }
  }

  std::vector<Need> take_needs() { return std::move(needs_); }

 private:
  // The value where `holds` is 1; elsewhere it has no meaning. While it is translated, `holds` is
  // part of the context, so needs inside it apply only there. A division in one branch of a
  // selection thus needs no proof for the other branch.
  Sum inside(const Sum& holds, const ExprNode& value) {
    if (holds.is_zero()) return {};
    const Sum outside = context_;
    context_ = product(context_, holds);
    Sum result = scalar(value);
    context_ = outside;
    return result;
  }

  Sum choice(const ExprNode& guard, const ExprNode& first, const ExprNode& second) {
    const Sum holds = truth(guard, false);
    const Sum fails = truth(guard, true);
    Sum a = inside(holds, first);
    Sum b = inside(fails, second);
    if (fails.is_zero()) return a;
    if (holds.is_zero()) return b;
    if (as_extended(a) || as_extended(b)) return extended_choice(holds, fails, a, b);
    return product(holds, a) + product(fails, b);
  }

  Sum read(std::size_t input, const std::vector<Polynomial>& at) {
    std::vector<Need> needs;
    Sum value = read_(input, at, needs);
    for (Need& need : needs) add_need(std::move(need));
    return value;
  }

  // A division needs a divisor that is not 0. Integer division is an opaque factor; real division
  // multiplies by the reciprocal.
  Sum divided(const Sum& a, const Sum& b) {
    require_finite(b);
    add_need({.kind = Need::Kind::kNonZero, .argument = b});
    if (integers_) return value(Factor::Kind::kQuotient, {require_finite(a), b});
    return extended_product(atoms_, a, value(Factor::Kind::kReciprocal, {b}));
  }

  void need_domain(const Factor& call) {
    using Function = ir::Function;
    const Sum& argument = call.arguments[0];
    switch (call.function) {
      case Function::kLog: return add_need({.kind = Need::Kind::kPositive, .argument = argument});
      case Function::kSqrt:
        return add_need({.kind = Need::Kind::kNotNegative, .argument = argument});
      case Function::kTan:
      case Function::kAsin:
      case Function::kAcos:
      case Function::kAcosh:
      case Function::kAtanh:
        return add_need(
            {.kind = Need::Kind::kInDomain, .function = call.function, .argument = argument});
      case Function::kPow: return need_power(argument, call.arguments[1]);
      default: return;
    }
  }

  // A power with a positive integer exponent is always defined. A non-positive integer exponent
  // needs a base that is not 0; other positive exponents need a non-negative base; all others need
  // a positive base.
  void need_power(const Sum& base, const Sum& exponent) {
    const auto number = number_of(exponent);
    const bool whole = number && denominator(*number) == 1;
    if (whole && *number > 0) return;
    const auto kind = whole                   ? Need::Kind::kNonZero
                      : number && *number > 0 ? Need::Kind::kNotNegative
                                              : Need::Kind::kPositive;
    add_need({.kind = kind, .argument = base});
  }

  // Qualifies a need by the current context and bound variables. A divisor that is a number other
  // than 0 needs no proof, and neither does a need in an impossible context.
  void add_need(Need need) {
    need.variables.insert(need.variables.end(), bound_.begin(), bound_.end());
    need.context = product(context_, need.context);
    const bool numeric = need.kind == Need::Kind::kNonZero && !need.argument.is_zero() &&
                         number_of(need.argument).has_value();
    if (!numeric && !need.context.is_zero()) needs_.push_back(std::move(need));
  }

  // A polynomial over integer elements and sizes, as an index. Fails for other sums. Indices are
  // integers, so every coefficient must be a whole number.
  Polynomial index_of(const Sum& sum) {
    Polynomial result;
    for (const Term& term : sum.terms) {
      if (!is_plain(term) || denominator(term.coefficient) != 1)
        throw NotExpressible{"an element used as an index"};
      Polynomial one(static_cast<std::int64_t>(numerator(term.coefficient)));
      for (const Factor& factor : term.factors) {
        if (factor.kind == Factor::Kind::kIndex) {
          one = one * factor.indices[0];
        } else if (factor.kind == Factor::Kind::kRead && !ir::is_float(factor.dtype)) {
          one = one * Polynomial(atoms_.element(factor.number, factor.indices));
        } else if (term.factors.size() == 1 && is_extremum(factor)) {
          one = extremum_index(factor, term.coefficient);
        } else {
          throw NotExpressible{"an element used as an index"};
        }
      }
      result = result + one;
    }
    return result;
  }

  static bool is_extremum(const Factor& factor) {
    return factor.kind == Factor::Kind::kMaximum || factor.kind == Factor::Kind::kMinimum;
  }

  // A multiple of an extremum as an index.
  Polynomial extremum_index(const Factor& factor, const Rational& by) {
    const bool maximum = (factor.kind == Factor::Kind::kMaximum) == (by > 0);
    std::optional<Polynomial> all;
    for (const Sum& argument : factor.arguments) {
      const Polynomial one = index_of(scaled(argument, by));
      if (!all) {
        all = one;
      } else {
        all = maximum ? atoms_.maximum(*all, one) : atoms_.minimum(*all, one);
      }
    }
    return *all;
  }

  Sum comparison(Factor::Kind kind, const ExprNode& n, bool negated) {
    Sum holds =
        value(kind, {require_finite(scalar(*n.kids[0])), require_finite(scalar(*n.kids[1]))});
    return negated ? constant_sum(1) + scaled(std::move(holds), -1) : holds;
  }

  Sum value(Factor::Kind kind, std::vector<Sum> arguments) {
    return lawful(atoms_, Factor{.kind = kind, .arguments = std::move(arguments)});
  }

  Sum number(const Polynomial& index) {
    return lawful(atoms_,
                  Factor{.kind = Factor::Kind::kIndex, .indices = {index}, .arguments = {}});
  }

  // Arithmetic is over exact reals, so a cast to a float type is the identity.
  Sum cast(ir::DType dtype, Sum value) {
    if (ir::is_float(dtype)) return value;
    require_finite(value);
    return lawful(atoms_, Factor{.kind = Factor::Kind::kCast,
                                 .number = static_cast<std::int64_t>(dtype),
                                 .arguments = {std::move(value)}});
  }

  // A reduction binds a fresh variable with 0 <= v < extent. A sum pushes the variable and its
  // guards into the terms of its body. An extremum or product becomes one factor; it requires a
  // guard that is a conjunction, and an extremum also needs a non-empty range. The range and the
  // guard belong to the context while the body is translated, because the body need be defined only
  // for members.
  Sum reduction(const ExprNode& n) {
    if (written_out_) return written_out(n);
    const AtomId variable = atoms_.fresh_variable();
    const Polynomial value(variable);
    const Polynomial extent = index(*n.kids[1]);
    variables_[n.kids[0]] = value;
    const Facts range{at_least_zero(value), less(value, extent)};
    const Sum outside = context_;
    bound_.push_back(variable);
    context_ = guarded(context_, range);
    const Sum guard = truth(*n.kids[2], false);
    context_ = product(context_, guard);
    Sum body = scalar(*n.kids[3]);
    context_ = outside;
    bound_.pop_back();
    if (n.reduction == ir::Reduction::kSum) {
      Sum sum = guarded(product(guard, require_finite(body)), range);
      for (Term& term : sum.terms) term.variables.push_back(variable);
      return sum;
    }
    const bool conjunction = guard.terms.size() == 1 && guard.terms[0].coefficient == 1 &&
                             guard.terms[0].variables.empty() && guard.terms[0].factors.empty();
    if (!conjunction) throw NotExpressible{"an extremum over alternatives"};
    Facts guards = range;
    guards.insert(guards.end(), guard.terms[0].guards.begin(), guard.terms[0].guards.end());
    auto partly = as_extended(body);
    if (partly) {
      const int ignored = n.reduction == ir::Reduction::kMax ? -1 : 1;
      if (n.reduction == ir::Reduction::kProd || partly->sign != ignored) require_finite(body);
      if (partly->is_infinite()) return body;
      move_guards(partly->where, variable, guards);
      body = std::exchange(partly->value, {});
    }
    if (n.reduction != ir::Reduction::kProd) {
      Need need{.kind = Need::Kind::kNonEmpty, .range = {variable}, .guards = guards};
      // Nested extrema of the same kind over a box need only the whole box to be non-empty.
      const ExprNode& inner = *n.kids[3];
      const bool same = inner.op == ExprOp::kReduce && inner.reduction == n.reduction &&
                        !needs_.empty() && needs_.back().kind == Need::Kind::kNonEmpty &&
                        std::ranges::count(needs_.back().variables, variable) > 0;
      if (same) {
        need.range.insert(need.range.end(), needs_.back().range.begin(), needs_.back().range.end());
        need.guards.insert(need.guards.end(), needs_.back().guards.begin(),
                           needs_.back().guards.end());
        needs_.pop_back();
      }
      add_need(std::move(need));
    }
    Sum result = extremum_over(n.reduction, variable, guards, body);
    if (!partly) return result;
    partly->value = std::move(result);
    return as_sum(*std::move(partly));
  }

  // Places where its argument is infinite leave the range of an extremum: moves the facts about its
  // variable to the guards. The other facts remain conditions for a finite extremum.
  void move_guards(Facts& finite_where, AtomId variable, Facts& guards) const {
    std::erase_if(finite_where, [&](const Literal& fact) {
      if (!atoms_.occurs(variable, fact.polynomial)) return false;
      // The range would be empty for some values of an enclosing variable, and not for others.
      const bool entangled = std::ranges::any_of(
          bound_, [&](AtomId other) { return atoms_.occurs(other, fact.polynomial); });
      if (entangled) throw NotExpressible{"an infinite number"};
      guards.push_back(fact);
      return true;
    });
  }

  // A reduction over a known number of values, as an explicit sum, product or extremum.
  Sum written_out(const ExprNode& n) {
    std::vector<Sum> values;
    collect_values(n, values);
    if (n.reduction == ir::Reduction::kSum) {
      Sum sum;
      for (const Sum& one : values) sum = std::move(sum) + require_finite(one);
      return sum;
    }
    if (n.reduction == ir::Reduction::kProd) {
      Sum all = constant_sum(1);
      for (const Sum& one : values) all = lawful(atoms_, product(all, require_finite(one)));
      return all;
    }
    if (values.empty()) throw NotExpressible{"an extremum of nothing"};
    const auto kind =
        n.reduction == ir::Reduction::kMax ? Factor::Kind::kMaximum : Factor::Kind::kMinimum;
    if (std::ranges::none_of(values, [](const Sum& one) { return as_extended(one).has_value(); }))
      return value(kind, std::move(values));
    Sum all = values.front();
    for (std::size_t i = 1; i < values.size(); ++i)
      all = extended_extremum(atoms_, kind, all, values[i]);
    return all;
  }

  // Flattens a nested reduction of the same kind: it adds its own values, possibly none.
  void collect_values(const ExprNode& n, std::vector<Sum>& values) {
    const Polynomial extent = index(*n.kids[1]);
    if (!extent.is_constant()) throw NotExpressible{"a range of unknown length, written out"};
    const ExprNode& body = *n.kids[3];
    for (std::int64_t i = 0; i < extent.constant(); ++i) {
      variables_[n.kids[0]] = i;
      const Sum guard = truth(*n.kids[2], false);
      if (guard.is_zero()) continue;
      const bool holds = number_of(guard) == Rational(1);
      if (!holds && n.reduction != ir::Reduction::kSum)
        throw NotExpressible{"a range that elements decide, written out"};
      if (holds && body.op == ExprOp::kReduce && body.reduction == n.reduction) {
        collect_values(body, values);
      } else {
        const Sum one = inside(guard, body);
        values.push_back(holds ? one : product(guard, require_finite(one)));
      }
    }
  }

  // Assumes that every range has an element, as definitions require of extrema. Then the maximum of
  // a maximum is the maximum of both maxima, and the maximum of a value that does not vary is that
  // value. The distribution over an inner extremum renames each copy, because two binders must not
  // share a variable.
  Sum extremum_over(ir::Reduction reduction, AtomId variable, const Facts& guards,
                    const Sum& body) {
    const bool is_extremum = reduction == ir::Reduction::kMax || reduction == ir::Reduction::kMin;
    const auto inner_kind =
        reduction == ir::Reduction::kMax ? Factor::Kind::kMaximum : Factor::Kind::kMinimum;
    const Factor* only = only_factor(body);
    if (is_extremum && !occurs(atoms_, variable, body)) return body;
    if (is_extremum && only != nullptr && only->kind == inner_kind) {
      std::optional<Sum> all;
      for (const Sum& argument : only->arguments) {
        const Sum one = renamed(atoms_, extremum_over(reduction, variable, guards, argument));
        all = all ? value(inner_kind, {*all, one}) : one;
      }
      return *all;
    }
    Factor factor{.kind = Factor::Kind::kReduce,
                  .reduction = reduction,
                  .arguments = {body},
                  .variables = {variable},
                  .guards = guards};
    std::ranges::sort(factor.guards);
    return lawful(atoms_, std::move(factor));
  }

  AtomTable& atoms_;
  bool integers_ = false;
  bool written_out_ = false;
  std::vector<ir::DType> input_types_;
  Read read_;
  Constant constant_;
  std::map<const ExprNode*, Polynomial> variables_;
  // The context of the current expression: bound variables and a truth value.
  std::vector<AtomId> bound_;
  Sum context_ = constant_sum(1);
  std::vector<Need> needs_;
};

}  // namespace

Result<ElementValues> ElementValues::of(const ir::Graph& graph, AtomTable& atoms,
                                        std::map<std::string, std::int64_t>& tensors,
                                        const std::map<std::string, double>& splats,
                                        const RealNumbers& reals) {
  ElementValues values(atoms);
  values.stand_ins_ = reals.stand_ins;
  values.rounded_ = reals.rounded;
  for (const auto& [real, term] : reals.stand_ins) {
    if (term.kind == RealTerm::Kind::kUnknown)
      values.unknowns_[term.name] =
          tensors.emplace(term.name, static_cast<std::int64_t>(tensors.size())).first->second;
  }
  EGRET_ASSIGN_OR_RETURN(values.graph_, ir::expand_composites(graph));
  values.denotations_.resize(values.graph_.nodes().size());
  for (std::size_t i = 0; i < values.graph_.nodes().size(); ++i) {
    const ir::Node& node = values.graph_.nodes()[i];
    if (node.kind == ir::NodeKind::kInput) {
      const auto number = static_cast<std::int64_t>(tensors.size());
      values.inputs_[static_cast<std::uint32_t>(i)] =
          tensors.emplace(node.name, number).first->second;
      if (const auto splat = splats.find(node.name); splat != splats.end())
        values.splats_[static_cast<std::uint32_t>(i)] = splat->second;
      if (const auto sign = reals.signs.find(node.name); sign != reals.signs.end())
        values.signs_[static_cast<std::uint32_t>(i)] = sign->second;
    }
    if (node.kind != ir::NodeKind::kOperator) continue;
    std::vector<ir::TensorType> types;
    for (const ir::NodeId input : node.inputs) types.push_back(values.graph_.node(input).type);
    EGRET_ASSIGN_OR_RETURN(values.denotations_[i], ir::denote(*node.op, node.attrs, types));
    for (const ir::Requirement& requirement : values.denotations_[i].requirements)
      values.requirements_.push_back(requirement.condition);
  }
  return values;
}

Sum ElementValues::element(std::size_t output, const std::vector<Polynomial>& at,
                           std::vector<Need>* needs) {
  Value value = node_element(graph_.outputs()[output].node, at);
  if (needs != nullptr) *needs = std::move(value.needs);
  return with_opaque_infinity(value.sum);
}

// A constant. Stand-ins become the unknown number that they stand for; roundings of simple numbers
// become those numbers.
Sum ElementValues::constant(double number) const {
  if (std::isnan(number)) throw NotExpressible{"a constant that is no number"};
  if (std::isinf(number)) return infinity(number > 0 ? 1 : -1);
  for (const double sign : {1.0, -1.0}) {
    const auto found = stand_ins_.find(sign * number);
    if (found != stand_ins_.end()) return scaled(value_of(found->second), Rational(sign));
  }
  // A constant such as the float nearest to 1/3 is read as 1/3. Without this, laws that hold for
  // the exact number would fail by a rounding error.
  if (rounded_) {
    if (const auto simple = rounded_from(number)) {
      if (simple->root_of == 1) return constant_sum(simple->factor);
      Factor root{.kind = Factor::Kind::kCall,
                  .function = ir::Function::kSqrt,
                  .arguments = {constant_sum(simple->root_of)}};
      return scaled(factor_sum(std::move(root)), simple->factor);
    }
  }
  return constant_sum(Rational(number));
}

// The value of a real attribute, built from the unknown numbers that stand-ins stand for.
Sum ElementValues::value_of(const RealTerm& term) const {
  const auto argument = [&](std::size_t i) { return require_finite(value_of(term.arguments[i])); };
  const auto extremum = [&](Factor::Kind kind) {
    return lawful(*atoms_, Factor{.kind = kind, .arguments = {argument(0), argument(1)}});
  };
  switch (term.kind) {
    case RealTerm::Kind::kUnknown:
      return factor_sum(
          {.kind = Factor::Kind::kRead, .number = unknowns_.at(term.name), .arguments = {}});
    case RealTerm::Kind::kNumber: return constant(term.number);
    case RealTerm::Kind::kIndex:
      return lawful(*atoms_, Factor{.kind = Factor::Kind::kIndex,
                                    .indices = {polynomial(*atoms_, term.index)},
                                    .arguments = {}});
    case RealTerm::Kind::kSum: return argument(0) + argument(1);
    case RealTerm::Kind::kDifference: return argument(0) + scaled(argument(1), -1);
    case RealTerm::Kind::kProduct: return lawful(*atoms_, product(argument(0), argument(1)));
    case RealTerm::Kind::kQuotient:
      return lawful(*atoms_,
                    product(argument(0), lawful(*atoms_, Factor{.kind = Factor::Kind::kReciprocal,
                                                                .arguments = {argument(1)}})));
    case RealTerm::Kind::kMinimum: return extremum(Factor::Kind::kMinimum);
    case RealTerm::Kind::kMaximum: return extremum(Factor::Kind::kMaximum);
  }
  return {};
}

// Memoized per node and indices. A cached sum is renamed: each use needs its own bound variables.
ElementValues::Value ElementValues::node_element(ir::NodeId id, const std::vector<Polynomial>& at) {
  const ir::Node& node = graph_.node(id);
  if (const auto splat = splats_.find(id.index()); splat != splats_.end())
    return {constant(splat->second)};
  if (node.kind == ir::NodeKind::kInput) {
    // Indices are within their axes, so what reads this does not occur.
    if (std::ranges::any_of(node.type.dims, [](auto size) { return size.same(0); })) return {};
    const auto sign = signs_.find(id.index());
    return {factor_sum({.kind = Factor::Kind::kRead,
                        .number = inputs_.at(id.index()),
                        .indices = at,
                        .arguments = {},
                        .truth = node.type.dtype == ir::DType::kBool,
                        .dtype = node.type.dtype,
                        .sign = sign != signs_.end() ? sign->second : ir::Sign::kUnknown})};
  }
  if (node.kind == ir::NodeKind::kConstant) {
    if (node.type.rank() != 0) throw NotExpressible{"a constant tensor"};
    return {constant(node.data.f64_at(0))};
  }
  // The cache is keyed by node and indices, so a shared node is translated once per index
  // expression.
  const auto key = std::pair(id.index(), at);
  if (const auto found = memory_.find(key); found != memory_.end())
    return {renamed(*atoms_, found->second.sum), found->second.needs};
  const ir::Denotation& denotation = denotations_[id.index()];
  std::vector<ir::DType> input_types;
  for (const ir::NodeId input : node.inputs) input_types.push_back(graph_.node(input).type.dtype);
  Translator translate(
      *atoms_, !ir::is_float(node.type.dtype), written_out_, std::move(input_types),
      [&](std::size_t input, const std::vector<Polynomial>& where, std::vector<Need>& needs) {
        Value value = node_element(node.inputs[input], where);
        needs = std::move(value.needs);
        return std::move(value.sum);
      },
      [&](double number) { return constant(number); });
  for (std::size_t i = 0; i < at.size(); ++i) translate.bind(denotation.vars[i], at[i]);
  Value value{denotation.value.is_constant() ? constant(denotation.value.constant())
                                             : translate.scalar(*denotation.value.node())};
  value.needs = translate.take_needs();
  memory_.emplace(key, value);
  return value;
}

// The guard as disjoint cases: the terms of its truth value, each with its guards.
std::vector<Facts> ElementValues::cases(AtomTable& atoms, ir::Guard guard) {
  if (guard.is_constant()) return guard.is_true() ? std::vector<Facts>{{}} : std::vector<Facts>{};
  Translator translate(atoms);
  std::vector<Facts> result;
  for (const Term& term : translate.truth(*guard.node(), false).terms) {
    if (!term.factors.empty()) throw NotExpressible{"a condition on elements"};
    result.push_back(term.guards);
  }
  return result;
}

Polynomial ElementValues::polynomial(AtomTable& atoms, ir::Index index) {
  if (index.is_constant()) return index.constant();
  return Translator(atoms).index(*index.node());
}

}  // namespace egret::verifier
