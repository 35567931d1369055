// SPDX-License-Identifier: Apache-2.0
#include "verifier/equality/closed_inputs.h"

#include <utility>

#include "verifier/algebra/element_value.h"
#include "verifier/algebra/factor_laws.h"

namespace egret::verifier {
namespace {

using Places = std::vector<Polynomial>;

bool admits_negative(const OpenInput& input) {
  return input.sign == ir::Sign::kUnknown && input.type.dtype != ir::DType::kBool &&
         (ir::is_float(input.type.dtype) || ir::is_signed_integer(input.type.dtype));
}
// Narrow integers do not contain all sizes.
bool admits_sizes(const OpenInput& input) {
  return ir::is_float(input.type.dtype) || input.type.dtype == ir::DType::kI64;
}

Sum number_at(std::int64_t number) { return constant_sum(Rational(number)); }

// All inputs are one number.
ClosedInputs all_equal(std::span<const OpenInput> inputs, std::int64_t number) {
  ClosedInputs result;
  for (const OpenInput& input : inputs)
    result[input.tensor] = [number](const Places&) { return number_at(number); };
  return result;
}

// 1 where every index is the given one, else 0.
Sum at_place(const Places& at, const Places& place) {
  Facts guards;
  for (std::size_t axis = 0; axis < at.size(); ++axis)
    guards.push_back(equal(at[axis], place[axis]));
  return guarded(number_at(1), guards);
}

}  // namespace

std::vector<ClosedInputs> closed_inputs(AtomTable& atoms, std::span<const OpenInput> inputs) {
  const ClosedInputs ones = all_equal(inputs, 1);
  std::vector<ClosedInputs> all{ones};
  // Another number for each input, so that exchanged operands differ.
  ClosedInputs numbers = ones;
  std::int64_t next = 1;
  for (const OpenInput& input : inputs) {
    if (input.type.dtype != ir::DType::kBool)
      numbers[input.tensor] = [next](const Places&) { return number_at(next); };
    ++next;
  }
  if (inputs.size() > 1) all.push_back(numbers);
  for (const OpenInput& input : inputs) {
    if (input.sign == ir::Sign::kPositive || inputs.size() == 1) continue;
    all.push_back(ones);
    all.back()[input.tensor] = [](const Places&) { return Sum(); };
  }
  for (const OpenInput& input : inputs) {
    if (!admits_sizes(input)) continue;
    for (std::size_t axis = 0; axis < input.type.dims.size(); ++axis) {
      all.push_back(ones);
      all.back()[input.tensor] = [&atoms, axis](const Places& at) {
        return lawful(
            atoms,
            Factor{.kind = Factor::Kind::kIndex, .indices = {at[axis] + 1}, .arguments = {}});
      };
    }
  }
  ClosedInputs negative = ones;
  bool has_negative = false;
  for (const OpenInput& input : inputs) {
    if (!admits_negative(input)) continue;
    has_negative = true;
    negative[input.tensor] = [](const Places&) { return number_at(-1); };
  }
  if (has_negative) all.push_back(std::move(negative));
  for (const OpenInput& input : inputs) {
    if (input.sign == ir::Sign::kPositive) continue;
    Places last;
    for (const ir::Index& size : input.type.dims)
      last.push_back(ElementValues::polynomial(atoms, size) - 1);
    for (const Places& place : {Places(last.size()), last}) {
      all.push_back(ones);
      all.back()[input.tensor] = [place](const Places& at) { return at_place(at, place); };
    }
  }
  return all;
}

Sum with_inputs(AtomTable& atoms, const Sum& sum, const ClosedInputs& inputs) {
  Sum result;
  for (const Term& term : sum.terms) {
    Term rest = term;
    rest.factors.clear();
    Sum value{{std::move(rest)}};
    for (const Factor& factor : term.factors) {
      if (factor.kind == Factor::Kind::kRead) {
        const auto form = inputs.find(factor.number);
        value = product(value,
                        form != inputs.end() ? form->second(factor.indices) : factor_sum(factor));
        continue;
      }
      Factor changed = factor;
      changed.arguments = mapped(factor.arguments, [&](const Sum& argument) {
        return with_inputs(atoms, argument, inputs);
      });
      value =
          product(value, factor.kind == Factor::Kind::kReduce ? factor_sum(std::move(changed))
                                                              : lawful(atoms, std::move(changed)));
    }
    result = std::move(result) + lawful(atoms, value);
  }
  return result;
}

Need with_inputs(AtomTable& atoms, const Need& need, const ClosedInputs& inputs) {
  Need result = need;
  result.argument = with_inputs(atoms, need.argument, inputs);
  result.context = with_inputs(atoms, need.context, inputs);
  return result;
}

}  // namespace egret::verifier
