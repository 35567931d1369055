// SPDX-License-Identifier: Apache-2.0
// Homogeneous laws: the operators f with f(sum of x_r) = sum of f(x_r), or the same with max,
// derived from their denotation.
//
// A sum passes where the element is linear and homogeneous in the partial inputs: products with and
// quotients by other values, sums, and choices that do not depend on them. Adding a constant is not
// homogeneous: a bias added on every device would count once a device. A maximum passes monotone
// steps: adding or scaling by values that are equal everywhere, maxima, and increasing functions.
#pragma once

#include <vector>

#include "ir/graph/definition.h"
#include "parallel/placement/placement.h"

namespace egret::parallel {

// The partial source: the elements of some inputs, or one reduction of the element.
struct PartialSource {
  std::vector<bool> inputs{};  // by input; empty: none
  const ir::ExprNode* reduction = nullptr;
};

// Whether the law is homogeneous in the source, for partial sums (kSum) or maxima (kMax). `types`
// are the inputs'.
bool is_homogeneous(const ir::Denotation& denotation, std::span<const ir::TensorType> types,
                    const PartialSource& source, AxisPlacement::Kind kind);

}  // namespace egret::parallel
