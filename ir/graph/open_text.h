// SPDX-License-Identifier: Apache-2.0
// Texts of what may contain open sizes.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "ir/core/attributes.h"
#include "ir/graph/graph.h"

namespace egret::ir {

// The names and types of the inputs and the names of the outputs: "(x: f32[N,3]) -> (y)".
std::string interface_text(const Graph& graph);

// Reads what to_string(AttrValue) writes, which for a symbolic integer is its size: "[N, 2*H]".
// Sizes become integers of the current SymbolicScope. Errors: bad_input; also for sizes outside of
// a scope for all values, and for a number that stands for an expression within the current one.
base::Result<AttrValue> parse_open_attr(std::string_view text);

}  // namespace egret::ir
