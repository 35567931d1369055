// SPDX-License-Identifier: Apache-2.0
#include "rules/proving/any_rank.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ir/analysis/elementwise.h"
#include "rules/language/attribute_pattern.h"
#include "rules/language/expression_reads.h"
#include "rules/testing/instance_conditions.h"
#include "rules/testing/instance_numbers.h"

namespace egret::rules {
namespace {

bool depends_on_shapes(const Expr& expr) {
  return any_call(expr, [](const ExprFunction& function) {
    const Reads reads = reads_of(function);
    return reads == Reads::kRank || reads == Reads::kSizes;
  });
}

// Lists of an operator without operands are its sizes, which may be any.
bool is_shape_of_none(const Term& term, std::string_view attribute) {
  if (!term.arguments.empty()) return false;
  return std::ranges::any_of(term.op->attrs(), [&](const ir::AttrSpec& spec) {
    return spec.name == attribute && spec.kind == ir::AttrKind::kIntegers;
  });
}

bool computes_from_shapes(const Term& term) {
  if (std::ranges::any_of(term.value, depends_on_shapes)) return true;
  if (std::ranges::any_of(term.attrs, [&](const Term::Attr& attr) {
        return depends_on_shapes(attr.value) && !is_shape_of_none(term, attr.name);
      }))
    return true;
  return std::ranges::any_of(term.arguments, computes_from_shapes);
}

bool accepts_scalars(const Term& term, KnownOperators& known) {
  if (term.kind != Term::Kind::kApply) return true;
  if (!std::ranges::all_of(term.arguments,
                           [&](const Term& argument) { return accepts_scalars(argument, known); }))
    return false;
  if (term.arguments.empty()) return true;
  const auto& signatures = known.signatures.of(*term.op, term.arguments.size());
  return std::ranges::any_of(signatures, [](const Signature& signature) {
    return std::ranges::all_of(signature.inputs,
                               [](const auto& input) { return input.first == 0; });
  });
}

Expr literal(std::int64_t value) {
  Expr expr;
  expr.value = value;
  return expr;
}

Expr has_rank_0(int slot) {
  Expr tensor;
  tensor.kind = Expr::Kind::kTensor;
  tensor.slot = slot;
  Expr rank;
  rank.kind = Expr::Kind::kCall;
  rank.function = find_function("rank");
  rank.arguments = {std::move(tensor)};
  Expr equal;
  equal.kind = Expr::Kind::kCall;
  equal.function = find_function("==");
  equal.arguments = {std::move(rank), literal(0)};
  return equal;
}

bool is_last_axis(const Expr& expr) {
  if (!is_constant(expr)) return false;
  Environment nothing;
  const auto value = evaluate(expr, nothing);
  const auto* axis = value ? std::get_if<std::int64_t>(&*value) : nullptr;
  return axis != nullptr && *axis < 0;
}

bool counts_from_last(const Expr& expr) {
  if (expr.kind == Expr::Kind::kCall && expr.function->tensors > 0) {
    if (expr.function->name == "dim") return is_last_axis(expr.arguments[1]);
    if (expr.function->name == "same_type") return true;
    const Reads reads = reads_of(*expr.function);
    return reads != Reads::kRank && reads != Reads::kSizes;
  }
  return std::ranges::all_of(expr.arguments, counts_from_last);
}

bool is_rank(const Expr& expr) {
  return expr.kind == Expr::Kind::kCall && expr.function->name == "rank";
}

// Conditions on ranks that hold for all higher ranks if they hold for some: rank(?a) == rank(?b),
// and lower bounds below the ranks that slices have.
bool bounds_rank(const Expr& condition) {
  constexpr std::int64_t kLeast = 3;
  if (condition.kind != Expr::Kind::kCall || condition.arguments.size() != 2) return false;
  const Expr& left = condition.arguments[0];
  const Expr& right = condition.arguments[1];
  if (!is_rank(left)) return false;
  if (condition.function->name == "==") return is_rank(right);
  const auto* bound = std::get_if<std::int64_t>(&right.value);
  return right.kind == Expr::Kind::kLiteral && bound != nullptr && *bound <= kLeast &&
         (condition.function->name == ">=" || (condition.function->name == ">" && *bound < kLeast));
}

// Integers of an operator may be axes, unless the rule counts them from the last.
bool counts_from_last(const Term& term) {
  if (!std::ranges::all_of(term.arguments, [](const Term& one) { return counts_from_last(one); }) ||
      !std::ranges::all_of(term.value, [](const Expr& one) { return counts_from_last(one); }))
    return false;
  if (term.kind != Term::Kind::kApply) return true;
  return std::ranges::all_of(term.op->attrs(), [&](const ir::AttrSpec& spec) {
    const Expr* pattern = pattern_of(term, spec.name);
    if (spec.kind == ir::AttrKind::kInteger) return pattern != nullptr && is_last_axis(*pattern);
    if (spec.kind == ir::AttrKind::kIntegers) return false;
    return pattern == nullptr || counts_from_last(*pattern);
  });
}

}  // namespace

bool is_free_of_ranks(const Rule& rule) {
  const auto is_free = [](const Binding& binding) { return counts_from_last(binding.term); };
  return std::ranges::all_of(rule.sources, is_free) && std::ranges::all_of(rule.targets, is_free) &&
         std::ranges::all_of(rule.lets,
                             [](const Rule::Let& let) {
                               return let.attribute >= 0 ? counts_from_last(let.value)
                                                         : counts_from_last(let.term);
                             }) &&
         std::ranges::all_of(conjuncts(rule), [](const Expr& condition) {
           return counts_from_last(condition) || bounds_rank(condition);
         });
}

std::optional<Rule> on_scalars(const Rule& rule, KnownOperators& known) {
  const auto fits = [&](const Term& term) {
    return !computes_from_shapes(term) && accepts_scalars(term, known);
  };
  const auto binding_fits = [&](const Binding& binding) { return fits(binding.term); };
  if (!std::ranges::all_of(rule.sources, binding_fits) ||
      !std::ranges::all_of(rule.targets, binding_fits))
    return std::nullopt;
  for (const Rule::Let& let : rule.lets) {
    if (let.attribute >= 0 ? depends_on_shapes(let.value) : !fits(let.term)) return std::nullopt;
  }
  Rule scalars = rule;
  scalars.conditions = conjuncts(rule);
  std::erase_if(scalars.conditions, depends_on_shapes);
  for (std::size_t slot = 0; slot < rule.tensors.size(); ++slot) {
    if (rule.is_variable(static_cast<int>(slot)))
      scalars.conditions.push_back(has_rank_0(static_cast<int>(slot)));
  }
  return scalars;
}

// Integer attributes are not open here: the operators are checked with the instance's alone. Nor
// are lists, which say less at rank 0 than at others (the axes of a reduction are none). A
// constant's integer element is no attribute.
bool ElementwiseCheck::holds(const Rule& rule, const Instance& instance) {
  const Numbers numbers = numbers_of(rule, instance);
  if (!std::ranges::all_of(numbers.integers,
                           [](const auto& one) { return one.first.ends_with(".element"); }))
    return false;
  for (const ir::Graph* graph : {&instance.left, &instance.right}) {
    for (const ir::Node& node : graph->nodes()) {
      if (node.kind != ir::NodeKind::kOperator) continue;
      if (!node.inputs.empty() && std::ranges::any_of(node.attrs.entries(), [](const auto& entry) {
            return std::holds_alternative<ir::Integers>(entry.value);
          }))
        return false;
      std::vector<ir::DType> dtypes;
      std::string key = node.op->name() + to_string(node.attrs);
      for (const ir::NodeId input : node.inputs) {
        dtypes.push_back(graph->node(input).type.dtype);
        key += " " + std::string(ir::to_string(dtypes.back()));
      }
      const auto found = known_.find(key);
      const bool is =
          found != known_.end()
              ? found->second
              : known_.emplace(key, ir::is_elementwise(*node.op, node.attrs, dtypes)).first->second;
      if (!is) return false;
    }
  }
  return true;
}

}  // namespace egret::rules
