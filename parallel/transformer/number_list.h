// SPDX-License-Identifier: Apache-2.0
// Numbers of layers, degrees and ranks as flags state them: 3,4,3.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace egret::parallel {

// Numbers that are not negative, separated by commas; empty for "", none where the text is
// something else.
std::optional<std::vector<std::int64_t>> numbers_of(std::string_view text);

}  // namespace egret::parallel
