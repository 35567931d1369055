// SPDX-License-Identifier: Apache-2.0
// Samples attribute values that an operator probably accepts, for testing rules. Attributes are
// recognized by name and kind (axis, perm, pads, ...), never by operator. Unknown names get small
// numbers. A poor guess only costs an attempt, because types are checked afterwards.
#pragma once

#include <optional>
#include <span>

#include "base/random.h"
#include "ir/core/attributes.h"
#include "ir/core/tensor_type.h"
#include "ir/graph/operator.h"

namespace egret::rules {

// `so_far` holds the attributes of the same operator that were already sampled (a slice's axis
// comes before its start). `spec` is the attribute to sample. Types are concrete.
ir::AttrValue sample_attr(const ir::AttrSpec& spec, const ir::Attrs& so_far,
                          std::span<const ir::TensorType> inputs, base::Random& random);

// The order in which an operator's attributes are sampled: those that others depend on come first.
std::vector<const ir::AttrSpec*> sampling_order(const ir::Operator& op);

}  // namespace egret::rules
