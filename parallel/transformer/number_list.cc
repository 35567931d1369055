// SPDX-License-Identifier: Apache-2.0
#include "parallel/transformer/number_list.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace egret::parallel {

std::optional<std::vector<std::int64_t>> numbers_of(std::string_view text) {
  std::vector<std::int64_t> numbers;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(','));
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size() || number < 0) return std::nullopt;
    numbers.push_back(number);
    if (word.size() == text.size()) return numbers;
    text.remove_prefix(word.size() + 1);
    if (text.empty()) return std::nullopt;
  }
  return numbers;
}

std::string text_of(std::span<const std::int64_t> numbers) {
  std::string text;
  for (const std::int64_t number : numbers)
    text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

std::vector<std::int64_t> divisors(std::int64_t number, std::int64_t most) {
  std::vector<std::int64_t> result;
  for (std::int64_t i = 1; i * i <= number; ++i) {
    if (number % i != 0) continue;
    result.push_back(i);
    if (i != number / i) result.push_back(number / i);
  }
  std::erase_if(result, [&](std::int64_t each) { return each > most; });
  std::ranges::sort(result);
  return result;
}

}  // namespace egret::parallel
