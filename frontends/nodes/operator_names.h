// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace egret::frontends {

// Operators that the importer itself understands; all others are rows of ir::all_operators().
std::span<const std::string_view> frontend_operators();

}  // namespace egret::frontends
