// SPDX-License-Identifier: Apache-2.0
#include "parallel/transformer/number_list.h"

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

}  // namespace egret::parallel
