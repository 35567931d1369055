// SPDX-License-Identifier: Apache-2.0
// The fused epilogue around a sum of products in a definition, of the forms that libraries support:
// y = relu(scale * sum + added + added...), where the relu may have a largest value. Recognized
// from the expression, not from operator names.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "ir/core/tensor.h"
#include "ir/nest/loop_nest.h"

namespace egret::backends::cuda {

struct Epilogue {
  int sum = -1;                                           // the node of the nest that is the sum
  double scale = 1;                                       // of the sum, before all else
  std::vector<const ir::NestNode*> added{};               // reads of inputs
  bool relu = false;                                      // last
  double most = std::numeric_limits<double>::infinity();  // of the relu
};

// The node under intermediate roundings, or itself. More digits there are acceptable.
int unrounded(const ir::LoopNest& nest, int id);

// The value of a constant, or of the only element of a known tensor.
std::optional<double> constant_of(const ir::LoopNest& nest,
                                  std::span<const ir::Tensor* const> constants, int id);

// nullopt where anything else surrounds the sum, or the root contains no sum. Intermediate
// roundings to f16 and bf16 are ignored: more digits there are acceptable. The nodes are those of
// `nest`. `constants`: by input, its data where known (else nullptr), or empty.
std::optional<Epilogue> find_epilogue(const ir::LoopNest& nest,
                                      std::span<const ir::Tensor* const> constants);

}  // namespace egret::backends::cuda
