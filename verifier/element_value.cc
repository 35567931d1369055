// SPDX-License-Identifier: Apache-2.0
#include "verifier/element_value.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "verifier/factor_laws.h"

namespace egret::verifier {

using base::Result;
using ir::ExprNode;
using ir::ExprOp;

namespace {

// Translates the expressions of one instantiated definition.
class Translator {
 public:
  using Read = std::function<Sum(std::size_t, const std::vector<Polynomial>&)>;
  using Constant = std::function<Sum(double)>;

  // Of indices and guards alone.
  explicit Translator(AtomTable& atoms) : atoms_(atoms) {}
  Translator(AtomTable& atoms, bool integers, std::vector<ir::DType> input_types, Read read,
             Constant constant)
      : atoms_(atoms),
        integers_(integers),
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
      default: throw NotExpressible{"an element used as an index"};
    }
  }

  // 1 where the guard holds (or does not, when negated), else 0.
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
      case ExprOp::kOr: {
        const Sum first = truth(*n.kids[0], negated);
        if ((n.op == ExprOp::kAnd) != negated) return product(first, truth(*n.kids[1], negated));
        // Either: the first, or else the second.
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
        return read_(static_cast<std::size_t>(n.integer), at);
      }
      case ExprOp::kAdd: return kid(0) + kid(1);
      case ExprOp::kSub: return kid(0) + scaled(kid(1), -1);
      case ExprOp::kMul: return lawful(atoms_, product(kid(0), kid(1)));
      case ExprOp::kNeg: return scaled(kid(0), -1);
      case ExprOp::kDiv:
        if (integers_) return value(Factor::Kind::kQuotient, {kid(0), kid(1)});
        return lawful(atoms_, product(kid(0), value(Factor::Kind::kReciprocal, {kid(1)})));
      case ExprOp::kMin: return value(Factor::Kind::kMinimum, {kid(0), kid(1)});
      case ExprOp::kMax: return value(Factor::Kind::kMaximum, {kid(0), kid(1)});
      case ExprOp::kCall: {
        Factor factor{.kind = Factor::Kind::kCall, .function = n.function, .arguments = {}};
        for (const ExprNode* argument : n.kids) factor.arguments.push_back(scalar(*argument));
        return lawful(atoms_, std::move(factor));
      }
      case ExprOp::kSelect:
        return product(truth(*n.kids[0], false), kid(1)) + product(truth(*n.kids[0], true), kid(2));
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

 private:
  Sum comparison(Factor::Kind kind, const ExprNode& n, bool negated) {
    Sum holds = value(kind, {scalar(*n.kids[0]), scalar(*n.kids[1])});
    return negated ? constant_sum(1) + scaled(std::move(holds), -1) : holds;
  }

  static bool is_plain(const Term& term) { return term.variables.empty() && term.guards.empty(); }

  Sum value(Factor::Kind kind, std::vector<Sum> arguments) {
    return lawful(atoms_, Factor{.kind = kind, .arguments = std::move(arguments)});
  }

  Sum number(const Polynomial& index) {
    return lawful(atoms_,
                  Factor{.kind = Factor::Kind::kIndex, .indices = {index}, .arguments = {}});
  }

  // Exact reals: a cast to a type of reals changes nothing.
  static Sum cast(ir::DType dtype, Sum value) {
    if (ir::is_float(dtype)) return value;
    return factor_sum({.kind = Factor::Kind::kCast,
                       .number = static_cast<std::int64_t>(dtype),
                       .arguments = {std::move(value)}});
  }

  Sum reduction(const ExprNode& n) {
    const AtomId variable = atoms_.fresh_variable();
    const Polynomial value(variable);
    const Polynomial extent = index(*n.kids[1]);
    variables_[n.kids[0]] = value;
    const Sum guard = truth(*n.kids[2], false);
    const Sum body = scalar(*n.kids[3]);
    const Facts range{at_least_zero(value), less(value, extent)};
    if (n.reduction == ir::Reduction::kSum) {
      Sum sum = guarded(product(guard, body), range);
      for (Term& term : sum.terms) term.variables.push_back(variable);
      return sum;
    }
    const bool conjunction = guard.terms.size() == 1 && guard.terms[0].coefficient == 1 &&
                             guard.terms[0].variables.empty() && guard.terms[0].factors.empty();
    if (!conjunction) throw NotExpressible{"an extremum over alternatives"};
    Facts guards = range;
    guards.insert(guards.end(), guard.terms[0].guards.begin(), guard.terms[0].guards.end());
    return extremum_over(n.reduction, variable, guards, body);
  }

  static const Factor* only_factor(const Sum& sum) {
    const bool plain = sum.terms.size() == 1 && is_plain(sum.terms[0]) &&
                       sum.terms[0].coefficient == 1 && sum.terms[0].factors.size() == 1;
    return plain ? &sum.terms[0].factors[0] : nullptr;
  }

  // Where every range has an element, as definitions require of extrema: the maximum of a maximum
  // is the maximum of both maxima, that of what does not vary is that.
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
    // A reduction of the same kind inside is one over all variables.
    if (only != nullptr && only->kind == Factor::Kind::kReduce && only->reduction == reduction) {
      const Factor inner = *only;
      factor.arguments = inner.arguments;
      factor.variables.insert(factor.variables.end(), inner.variables.begin(),
                              inner.variables.end());
      factor.guards.insert(factor.guards.end(), inner.guards.begin(), inner.guards.end());
    }
    std::ranges::sort(factor.guards);
    return factor_sum(std::move(factor));
  }

  AtomTable& atoms_;
  bool integers_ = false;
  std::vector<ir::DType> input_types_;
  Read read_;
  Constant constant_;
  std::map<const ExprNode*, Polynomial> variables_;
};

}  // namespace

Result<ElementValues> ElementValues::of(const ir::Graph& graph, AtomTable& atoms,
                                        std::map<std::string, std::int64_t>& tensors,
                                        const std::map<std::string, double>& splats,
                                        const std::map<double, std::string>& reals) {
  ElementValues values(atoms);
  for (const auto& [real, name] : reals)
    values.reals_[real] =
        tensors.emplace(name, static_cast<std::int64_t>(tensors.size())).first->second;
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

Sum ElementValues::element(std::size_t output, const std::vector<Polynomial>& at) {
  return node_element(graph_.outputs()[output].node, at);
}

// An unknown number where one is meant.
Sum ElementValues::constant(double number) const {
  if (number != number || number - number != 0) throw NotExpressible{"an infinite constant"};
  for (const double sign : {1.0, -1.0}) {
    const auto found = reals_.find(sign * number);
    if (found != reals_.end())
      return scaled(
          factor_sum({.kind = Factor::Kind::kRead, .number = found->second, .arguments = {}}),
          Rational(sign));
  }
  return constant_sum(Rational(number));
}

Sum ElementValues::node_element(ir::NodeId id, const std::vector<Polynomial>& at) {
  const ir::Node& node = graph_.node(id);
  if (const auto splat = splats_.find(id.index()); splat != splats_.end())
    return constant(splat->second);
  if (node.kind == ir::NodeKind::kInput) {
    return factor_sum({.kind = Factor::Kind::kRead,
                       .number = inputs_.at(id.index()),
                       .indices = at,
                       .arguments = {},
                       .truth = node.type.dtype == ir::DType::kBool});
  }
  if (node.kind == ir::NodeKind::kConstant) {
    if (node.type.rank() != 0) throw NotExpressible{"a constant tensor"};
    return constant(node.data.f64_at(0));
  }
  const auto key = std::pair(id.index(), at);
  if (const auto found = memory_.find(key); found != memory_.end())
    return renamed(*atoms_, found->second);
  const ir::Denotation& denotation = denotations_[id.index()];
  std::vector<ir::DType> input_types;
  for (const ir::NodeId input : node.inputs) input_types.push_back(graph_.node(input).type.dtype);
  Translator translate(
      *atoms_, !ir::is_float(node.type.dtype), std::move(input_types),
      [&](std::size_t input, const std::vector<Polynomial>& where) {
        return node_element(node.inputs[input], where);
      },
      [&](double number) { return constant(number); });
  for (std::size_t i = 0; i < at.size(); ++i) translate.bind(denotation.vars[i], at[i]);
  const Sum value = denotation.value.is_constant() ? constant(denotation.value.constant())
                                                   : translate.scalar(*denotation.value.node());
  memory_.emplace(key, value);
  return value;
}

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
