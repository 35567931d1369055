// SPDX-License-Identifier: Apache-2.0
#include "rules/testing/operand_draws.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace egret::rules {
namespace {

bool agrees(const Signature& signature, const Operands& operands) {
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const ir::TensorType& type = operands.types[i];
    if (operands.built[i] && signature.inputs[i] != std::pair(type.rank(), type.dtype))
      return false;
  }
  // -1: not known yet.
  const auto size = [&](const Signature::Axis& at) {
    return operands.built[at.input] ? operands.types[at.input].dims[at.axis].constant() : -1;
  };
  return std::ranges::all_of(signature.equal, [&](const Signature::Equal& pair) {
    const std::int64_t first = pair.first ? size(*pair.first) : 1;
    const std::int64_t second = size(pair.second);
    return first < 0 || second < 0 || first == second;
  });
}

// Gives operand i the sizes that the signature has equal to those of operands before it.
void make_alike(const Signature& like, std::size_t i, Operands& operands) {
  std::vector<ir::TensorType>& types = operands.types;
  if (types[i].rank() != like.inputs[i].first) return;
  const auto has = [&](const Signature::Axis& at) {
    return (operands.built[at.input] || at.input <= i) && at.axis < types[at.input].dims.size();
  };
  for (const Signature::Equal& pair : like.equal) {
    if (pair.second.input == i) {
      if (!pair.first) types[i].dims[pair.second.axis] = 1;
      if (pair.first && has(*pair.first))
        types[i].dims[pair.second.axis] = types[pair.first->input].dims[pair.first->axis];
    } else if (pair.first && pair.first->input == i && operands.built[pair.second.input]) {
      types[i].dims[pair.first->axis] = types[pair.second.input].dims[pair.second.axis];
    }
  }
}

// The first operand that is the same variable as operand i.
std::size_t first_occurrence(const Term& term, const Operands& operands, std::size_t i) {
  std::size_t first = 0;
  while (operands.built[first] || term.arguments[first].slot != term.arguments[i].slot) ++first;
  return first;
}

}  // namespace

std::vector<const Signature*> fitting_signatures(const std::vector<Signature>& known,
                                                 const Operands& operands) {
  std::vector<const Signature*> fitting;
  for (const Signature& signature : known) {
    if (agrees(signature, operands)) fitting.push_back(&signature);
  }
  return fitting;
}

void OperandDraws::draw(const Term& term, const std::vector<const Signature*>& fitting,
                        Operands& operands) {
  TensorTypes models;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands.built[i]) {
      models.push_back(&operands.types[i]);
    } else {  // forget what the last try showed
      sources_.environment().tensors[static_cast<std::size_t>(term.arguments[i].slot)] = {};
    }
  }
  const Signature* like =
      random_.chance(0.9) && !fitting.empty() ? fitting[random_.below(fitting.size())] : nullptr;
  const bool alike = like != nullptr && random_.chance(0.6);  // in sizes too
  const auto dtype = dtype_of_conditions(term, operands);
  const bool one_dtype = dtype && random_.chance(0.8);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands.built[i]) continue;
    ir::TensorType& type = operands.types[i];
    const int slot = term.arguments[i].slot;
    const std::size_t first = first_occurrence(term, operands, i);
    if (first < i) {  // a variable has one type
      type = operands.types[first];
    } else {
      type = draw_type(palette_, {models, sources_.variable_types()},
                       like != nullptr ? &like->inputs[i] : nullptr, conditions_.rank_of(slot),
                       random_);
      if (one_dtype) type.dtype = *dtype;
      if (const auto own = drawn_dtype(slot)) type.dtype = *own;
      if (alike) make_alike(*like, i, operands);
      conditions_.fit(slot, type, sources_.environment(),
                      palette_.allowed == Sizes::kWithZero ? 0 : 1);
      show(slot, type);
    }
    models.push_back(&type);
  }
}

// The element type that the conditions give one of the operands, or that a built one has which is
// rarely drawn: the others mostly need the same.
std::optional<ir::DType> OperandDraws::dtype_of_conditions(const Term& term,
                                                           const Operands& operands) {
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Term& argument = term.arguments[i];
    if (operands.built[i]) {
      const ir::DType dtype = operands.types[i].dtype;
      if (dtype != ir::DType::kF32 && dtype != ir::DType::kI64 && dtype != ir::DType::kBool)
        return dtype;
    } else if (const auto dtype = drawn_dtype(argument.slot)) {
      return dtype;
    }
  }
  return std::nullopt;
}

// One of those that the conditions want.
std::optional<ir::DType> OperandDraws::drawn_dtype(int slot) {
  const std::span<const ir::DType> dtypes = conditions_.dtypes_of(slot);
  if (dtypes.size() <= 1) return dtypes.empty() ? std::nullopt : std::optional(dtypes.front());
  return dtypes[random_.below(dtypes.size())];
}

void OperandDraws::show(int slot, const ir::TensorType& type) {
  TensorFacts& shown = shown_[slot];
  shown = {type, true, std::nullopt};
  sources_.environment().tensors[static_cast<std::size_t>(slot)] = {&shown, 0};
}

}  // namespace egret::rules
