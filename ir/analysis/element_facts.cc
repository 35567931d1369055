// SPDX-License-Identifier: Apache-2.0
#include "ir/analysis/element_facts.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace egret::ir {

std::optional<double> common_value(const Tensor& tensor) {
  if (tensor.elements() == 0) return std::nullopt;
  const auto bytes = tensor.data();
  const std::size_t size = byte_size(tensor.dtype());
  for (std::size_t at = size; at < bytes.size(); at += size) {
    if (std::memcmp(bytes.data(), bytes.data() + at, size) != 0) return std::nullopt;
  }
  const double value = tensor.f64_at(0);
  // Integers from 2^53 on share one f64 with others.
  if (!is_float(tensor.dtype()) && std::abs(value) >= 0x1p53) return std::nullopt;
  return value;
}

std::array<Sign, 3> output_signs(const Denotation& denotation, std::span<const TensorType> inputs) {
  std::array<Sign, 3> result{};
  std::vector<SignedInput> known;
  for (const TensorType& type : inputs) known.push_back({type.dtype, Sign::kUnknown});
  for (const Sign sign : {Sign::kUnknown, Sign::kNotNegative, Sign::kPositive}) {
    for (SignedInput& input : known) input.sign = sign;
    result[static_cast<std::size_t>(sign)] = sign_of(denotation, known);
  }
  return result;
}

bool same_elements(const Tensor& a, const Tensor& b) {
  // By memcmp(): std::ranges::equal() of bytes goes one by one, which is seen for large weights.
  const auto first = a.data();
  const auto second = b.data();
  return a.type() == b.type() && first.size() == second.size() &&
         (first.data() == second.data() ||
          std::memcmp(first.data(), second.data(), first.size()) == 0);
}

OutputFacts output_facts(const Denotation& denotation, std::span<const TensorType> inputs) {
  OutputFacts facts;
  if (denotation.value.is_constant()) {
    facts.splat = denotation.value.constant();
  } else if (denotation.value.node()->op == ExprOp::kRead) {
    facts.moves = static_cast<int>(denotation.value.node()->integer);
  }
  facts.signs = output_signs(denotation, inputs);
  return facts;
}

}  // namespace egret::ir
