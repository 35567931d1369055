// SPDX-License-Identifier: Apache-2.0
// Numbers of layers, degrees and ranks as flags state them: 3,4,3.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace egret::parallel {

// Numbers that are not negative, separated by commas; empty for "", none where the text is
// something else.
std::optional<std::vector<std::int64_t>> numbers_of(std::string_view text);
// The same numbers as such a text.
std::string text_of(std::span<const std::int64_t> numbers);

// The numbers up to MOST that divide NUMBER, ascending. O(sqrt(number)).
std::vector<std::int64_t> divisors(std::int64_t number, std::int64_t most);

}  // namespace egret::parallel
