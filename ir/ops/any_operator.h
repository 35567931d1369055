// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "ir/graph/operator.h"

namespace egret::ir {

// An operator by its name, also one of the two of opaque nodes (ir/ops/opaque.h), which
// find_operator() does not know. Null if there is none.
const Operator* find_any_operator(std::string_view name);

}  // namespace egret::ir
