// SPDX-License-Identifier: Apache-2.0
#include "rules/certificates/program_alignment.h"

#include <algorithm>

namespace egret::rules {

using base::Result;
using verifier::Certificate;
using verifier::TermRef;
using StepNumber = StepTable::StepNumber;

namespace {

bool is_composite(const verifier::ReplaySymbol& head) {
  return head.kind == ir::NodeKind::kOperator && head.op->is_composite();
}

}  // namespace

Result<ProgramAlignment::Way> ProgramAlignment::way_of(const Pair& pair) {
  const auto& [left, right] = pair;
  if (left == right) return Way::kSame;
  const verifier::ReplaySymbol& from = terms_.head(left);
  const verifier::ReplaySymbol& to = terms_.head(right);
  if (terms_.same_type(left, right)) {
    if (to.kind == ir::NodeKind::kConstant && terms_.facts(left).constant) return Way::kFold;
    if (terms_.symbol_of(left) == terms_.symbol_of(right) &&
        terms_.children(left).size() == terms_.children(right).size())
      return Way::kOperands;
    if (is_composite(from)) return Way::kExpandLeft;
    if (is_composite(to)) return Way::kExpandRight;
  }
  return base::mismatch("the written program has " + terms_.text(right) + " in place of " +
                        terms_.text(left));
}

// A pair is finished when it is reached again after the pairs that it needs.
Result<StepNumber> ProgramAlignment::prove(TermRef left, TermRef right) {
  std::vector<Pair> stack{{left, right}};
  while (!stack.empty()) {
    const Pair top = stack.back();
    if (proven_.contains(top)) {
      stack.pop_back();
      continue;
    }
    EGRET_ASSIGN_OR_RETURN(const Way way, way_of(top));
    std::vector<Pair> needed;
    if (way == Way::kOperands) {
      const auto from = terms_.children(top.first);
      const auto to = terms_.children(top.second);
      for (std::size_t i = 0; i < from.size(); ++i) needed.emplace_back(from[i], to[i]);
    } else if (way == Way::kExpandLeft) {
      EGRET_ASSIGN_OR_RETURN(const TermRef body, code_.expanded(top.first));
      needed.emplace_back(body, top.second);
    } else if (way == Way::kExpandRight) {
      EGRET_ASSIGN_OR_RETURN(const TermRef body, code_.expanded(top.second));
      needed.emplace_back(top.first, body);
    }
    const std::size_t open = stack.size();
    for (const Pair& pair : needed) {
      if (!proven_.contains(pair)) stack.push_back(pair);
    }
    if (stack.size() > open) continue;
    EGRET_ASSIGN_OR_RETURN(proven_[top], finish(top, way));
    stack.pop_back();
  }
  return proven_.at({left, right});
}

Result<StepNumber> ProgramAlignment::finish(const Pair& pair, Way way) {
  const auto& [left, right] = pair;
  switch (way) {
    case Way::kSame: return Certificate::kReflexive;
    case Way::kFold: return fold(pair);
    case Way::kOperands: {
      std::vector<StepNumber> premises;
      for (std::size_t i = 0; i < terms_.children(left).size(); ++i)
        premises.push_back(proven_.at({terms_.children(left)[i], terms_.children(right)[i]}));
      return steps_.congruence(left, right, std::move(premises));
    }
    case Way::kExpandLeft: {
      EGRET_ASSIGN_OR_RETURN(const TermRef body, code_.expanded(left));
      const StepNumber both[] = {expansion(left, body), proven_.at({body, right})};
      return steps_.chain(both);
    }
    case Way::kExpandRight: {
      EGRET_ASSIGN_OR_RETURN(const TermRef body, code_.expanded(right));
      const StepNumber both[] = {proven_.at({left, body}), steps_.symmetry(expansion(right, body))};
      return steps_.chain(both);
    }
  }
  return base::internal_error("no way between two terms");
}

StepNumber ProgramAlignment::expansion(TermRef composite, TermRef body) {
  return steps_.add({.kind = Certificate::Step::Kind::kCode,
                     .left = composite.index(),
                     .right = body.index(),
                     .name = "expand-composites"});
}

// Folding evaluates in f64, or as a run would where that decides something
// (rules/tensors/constant_folding.h).
Result<StepNumber> ProgramAlignment::fold(const Pair& pair) {
  const auto& [left, right] = pair;
  const ir::Tensor& constant = terms_.head(right).data;
  for (const std::string_view precision : {"f64", "f32"}) {
    EGRET_ASSIGN_OR_RETURN(const ir::Tensor value, folded_.value(left, precision));
    if (!ir::same_elements(value, constant)) continue;
    return steps_.add({.kind = Certificate::Step::Kind::kFold,
                       .left = left.index(),
                       .right = right.index(),
                       .name = std::string(precision)});
  }
  return base::mismatch("a folded constant of " + to_string(constant.type()) +
                        " is not the value of " + terms_.text(left));
}

}  // namespace egret::rules
