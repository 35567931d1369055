// SPDX-License-Identifier: Apache-2.0
#include "ir/analysis/element_facts.h"

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
  return tensor.f64_at(0);
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

}  // namespace egret::ir
