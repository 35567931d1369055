// SPDX-License-Identifier: Apache-2.0
// Where partial results may pass: which operators f have f(sum of x_r) = sum of f(x_r), or the same
// with max, read off their denotation.
//
// A sum passes where the element is homogeneous and linear in what is summed: products with what is
// not, quotients by it, sums, and choices that do not depend on it. A constant added is no linear
// map: a bias added on every device would be added as often as there are devices. A maximum passes
// monotone steps, one at a time: adding or scaling by what is the same everywhere, maxima, and
// increasing functions.
#pragma once

#include <vector>

#include "ir/graph/definition.h"
#include "parallel/placement/placement.h"

namespace egret::parallel {

// What is summed or compared: the elements of some inputs, or one reduction of the element.
struct PartialSource {
  std::vector<bool> inputs{};  // by input; empty: none
  const ir::ExprNode* reduction = nullptr;
};

// Whether partial sums (kSum) or maxima (kMax) of the source pass. `types` are the inputs'.
bool passes(const ir::Denotation& denotation, std::span<const ir::TensorType> types,
            const PartialSource& source, AxisPlacement::Kind kind);

}  // namespace egret::parallel
