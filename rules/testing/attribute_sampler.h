// SPDX-License-Identifier: Apache-2.0
// Random attribute values that an operator is likely to accept, for testing rules. Attributes are
// recognized by name and kind (axis, perm, pads, ...), never by operator; a name that is not known
// gets small numbers. A poor guess costs an attempt, nothing else: types are checked afterwards.
#pragma once

#include <optional>
#include <span>

#include "base/random.h"
#include "ir/core/attributes.h"
#include "ir/core/tensor_type.h"
#include "ir/graph/operator.h"

namespace egret::rules {

// `so_far` holds the attributes of the same operator that are known already (a slice's axis comes
// before its start); `spec` is the one wanted. Types are concrete.
ir::AttrValue sample_attr(const ir::AttrSpec& spec, const ir::Attrs& so_far,
                          std::span<const ir::TensorType> inputs, base::Random& random);

// The order in which a sampler wants an operator's attributes: those that others depend on first.
std::vector<const ir::AttrSpec*> sampling_order(const ir::Operator& op);

}  // namespace egret::rules
