// SPDX-License-Identifier: Apache-2.0
#include "verifier/replay/code_steps.h"

#include <algorithm>

#include "ir/analysis/elementwise.h"
#include "ir/core/symbolic_scope.h"
#include "ir/graph/body.h"

namespace egret::verifier {

using base::Result;
using base::Status;

struct CodeSteps::Row {
  std::string_view name;
  Status (CodeSteps::*check)(TermRef left, TermRef right);
};

const CodeSteps::Row* CodeSteps::find(std::string_view name) {
  static constexpr Row kRows[] = {
      {"expand-composites", &CodeSteps::expansion},
      {"concat-nest", &CodeSteps::concatenation},
      {"concat-flatten", &CodeSteps::concatenation},
      {"transpose-into-elementwise", &CodeSteps::transpose_into},
      {"transpose-out-of-elementwise", &CodeSteps::transpose_out},
      {"transpose-into-resize", &CodeSteps::transpose_into_resize},
  };
  const auto* found = std::ranges::find(kRows, name, &Row::name);
  return found != std::end(kRows) ? found : nullptr;
}

bool CodeSteps::has(std::string_view name) { return find(name) != nullptr; }

Status CodeSteps::check(std::string_view name, TermRef left, TermRef right) {
  const Row* row = find(name);
  if (row == nullptr) return base::mismatch("there is no step called '" + std::string(name) + "'");
  if (!terms_.same_type(left, right)) return base::mismatch("the sides differ in type");
  EGRET_RETURN_IF_ERROR((this->*row->check)(left, right));
  ir::SymbolicScope* const scope = ir::SymbolicScope::current();
  return scope != nullptr && scope->take_undecided()
             ? base::mismatch("the step depends on open sizes")
             : base::ok();
}

Result<TermRef> CodeSteps::expanded(TermRef composite) {
  const ReplaySymbol& head = terms_.head(composite);
  if (head.kind != ir::NodeKind::kOperator || !head.op->is_composite())
    return base::bad_input("the left side is no composite operator");
  std::vector<TermRef> operands;
  std::vector<ir::TensorType> types;
  for (const TermRef operand : terms_.children(composite)) {
    operands.push_back(operand);
    types.push_back(terms_.type(operand));
  }
  EGRET_ASSIGN_OR_RETURN(const ir::Graph body, ir::body_graph(*head.op, head.attrs, types));
  EGRET_ASSIGN_OR_RETURN(const std::vector<TermRef> made, terms_.add(body, operands));
  return made[body.outputs().front().node.index()];
}

Status CodeSteps::expansion(TermRef left, TermRef right) {
  EGRET_ASSIGN_OR_RETURN(const TermRef body, expanded(left));
  return body == right ? base::ok() : base::mismatch("the right side is not the operator's body");
}

// The operands of a concatenation, and in place of operands that are concatenations with the same
// attributes, theirs.
std::vector<TermRef> CodeSteps::parts_of(TermRef concat) const {
  std::vector<TermRef> parts;
  std::vector<TermRef> stack{concat};
  while (!stack.empty()) {
    const TermRef top = stack.back();
    stack.pop_back();
    if (terms_.symbol_of(top) != terms_.symbol_of(concat)) {
      parts.push_back(top);
      continue;
    }
    const auto children = terms_.children(top);
    stack.insert(stack.end(), children.rbegin(), children.rend());
  }
  return parts;
}

Status CodeSteps::concatenation(TermRef left, TermRef right) {
  if (!terms_.is(left, "concat") || terms_.symbol_of(left) != terms_.symbol_of(right))
    return base::mismatch("the sides are no concatenations along one axis");
  return parts_of(left) == parts_of(right) ? base::ok()
                                           : base::mismatch("the sides join other operands");
}

Result<TermRef> CodeSteps::apply(std::string_view op, const ir::Attrs& attrs, TermRef operand) {
  const ir::Operator& definition = ir::get_operator(op);
  EGRET_ASSIGN_OR_RETURN(const ir::Attrs canonical, ir::canonical_attrs(definition.attrs(), attrs));
  return terms_.make(terms_.operation(definition, canonical), std::span(&operand, 1));
}

// An operand of an elementwise operator whose result is permuted. One of lower rank is broadcast:
// it first gets axes of size 1. One with a single element has no place.
Result<TermRef> CodeSteps::permuted(TermRef x, const ir::Integers& perm) {
  const auto rank = static_cast<std::size_t>(terms_.type(x).rank());
  if (rank == 0) return x;
  if (rank == perm.size()) return apply("transpose", {{"perm", perm}}, x);
  if (rank > perm.size()) return base::mismatch("an operand has more axes than the result");
  if (!terms_.type(x).is_concrete()) return base::mismatch("an operand gets axes of open sizes");
  const ir::Shape shape = terms_.type(x).shape();
  if (terms_.type(x).elements() == 1) return apply("reshape", {{"shape", ir::Integers{}}}, x);
  ir::Integers padded(perm.size() - shape.size(), 1);
  padded.insert(padded.end(), shape.begin(), shape.end());
  EGRET_ASSIGN_OR_RETURN(const TermRef reshaped, apply("reshape", {{"shape", padded}}, x));
  return apply("transpose", {{"perm", perm}}, reshaped);
}

bool CodeSteps::is_elementwise(TermRef application) {
  const ReplaySymbol& head = terms_.head(application);
  if (head.kind != ir::NodeKind::kOperator) return false;
  std::vector<ir::DType> dtypes;
  for (const TermRef operand : terms_.children(application))
    dtypes.push_back(terms_.type(operand).dtype);
  const auto [found, is_new] =
      elementwise_.try_emplace({terms_.symbol_of(application), dtypes}, false);
  if (is_new) found->second = ir::is_elementwise(*head.op, head.attrs, dtypes);
  return found->second;
}

Status CodeSteps::transpose_into(TermRef left, TermRef right) {
  if (!terms_.is(left, "transpose")) return base::mismatch("the left side is no transpose");
  const TermRef inner = terms_.children(left)[0];
  if (!is_elementwise(inner)) return base::mismatch("what is transposed is not elementwise");
  const ir::Integers perm = terms_.head(left).attrs.integers("perm");
  std::vector<TermRef> operands;
  const std::vector<TermRef> children(terms_.children(inner).begin(), terms_.children(inner).end());
  for (const TermRef child : children) {
    EGRET_ASSIGN_OR_RETURN(operands.emplace_back(), permuted(child, perm));
  }
  EGRET_ASSIGN_OR_RETURN(const TermRef built, terms_.make(terms_.symbol_of(inner), operands));
  return built == right ? base::ok()
                        : base::mismatch("the right side is not the operator on transposes");
}

Status CodeSteps::transpose_out(TermRef left, TermRef right) {
  if (!terms_.is(right, "transpose") || !is_elementwise(left))
    return base::mismatch("not an elementwise operator and a transpose");
  const ir::Integers perm = terms_.head(right).attrs.integers("perm");
  const TermRef inner = terms_.children(right)[0];
  const std::vector<TermRef> outside(terms_.children(left).begin(), terms_.children(left).end());
  const std::vector<TermRef> inside(terms_.children(inner).begin(), terms_.children(inner).end());
  if (terms_.symbol_of(inner) != terms_.symbol_of(left) || inside.size() != outside.size())
    return base::mismatch("what is transposed is another operator");
  ir::Integers inverse(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i)
    inverse[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
  for (std::size_t i = 0; i < inside.size(); ++i) {
    EGRET_ASSIGN_OR_RETURN(const TermRef moved, permuted(outside[i], inverse));
    if (moved == inside[i]) continue;
    const bool was_transposed = terms_.is(outside[i], "transpose") &&
                                terms_.head(outside[i]).attrs.integers("perm") == perm &&
                                terms_.children(outside[i])[0] == inside[i];
    if (!was_transposed)
      return base::mismatch("operand " + std::to_string(i) + " is not moved by the transpose");
  }
  return base::ok();
}

Status CodeSteps::transpose_into_resize(TermRef left, TermRef right) {
  if (!terms_.is(left, "transpose") || !terms_.is(terms_.children(left)[0], "resize"))
    return base::mismatch("the left side is no transpose of a resize");
  const TermRef inner = terms_.children(left)[0];
  const ir::Integers perm = terms_.head(left).attrs.integers("perm");
  ir::Attrs attrs = terms_.head(inner).attrs;
  const auto axis = std::ranges::find(perm, attrs.integer("axis")) - perm.begin();
  attrs.set("axis", std::int64_t{axis});
  EGRET_ASSIGN_OR_RETURN(const TermRef moved,
                         apply("transpose", {{"perm", perm}}, terms_.children(inner)[0]));
  EGRET_ASSIGN_OR_RETURN(const TermRef built, apply("resize", attrs, moved));
  return built == right ? base::ok()
                        : base::mismatch("the right side is not the resize of a transpose");
}

}  // namespace egret::verifier
