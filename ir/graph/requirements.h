// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>

#include "base/status.h"
#include "ir/core/attributes.h"
#include "ir/core/tensor_type.h"
#include "ir/graph/operator.h"

namespace egret::ir {

// Asks `holds` for each condition on sizes that the application has, in order, those of the body of
// a composite included; opaque operators have none. Errors: bad_input for one that does not hold,
// and those of denote().
base::Status check_requirements(const Operator& op, const Attrs& attrs,
                                std::span<const TensorType> inputs,
                                const std::function<bool(Guard)>& holds);

}  // namespace egret::ir
