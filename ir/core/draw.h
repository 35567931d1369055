// SPDX-License-Identifier: Apache-2.0
// The distribution of a random tensor's elements.
#pragma once

#include "base/random.h"
#include "ir/core/tensor.h"

namespace egret::ir {

// Reals are uniform in [low, high), integers in [low, high], without 0 where `zero` is false.
struct Draw {
  double low = 0;
  double high = 0;
  bool zero = true;
};

// The distribution of Tensor::random(): reals in [-1, 1), integers in [0, 10], fair truth values.
Draw usual_draw(DType dtype);
Tensor drawn(TensorType type, const Draw& draw, base::Random& random);

}  // namespace egret::ir
