// SPDX-License-Identifier: Apache-2.0
// What stands around a sum of products in a definition, of the kinds that libraries compute along
// with it: y = relu(scale * sum + added + added...). Found by what is written, not by names. The
// relu may have a largest value.
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

// The node under what rounds a real on its way, or itself. What keeps more digits there is as good.
int unrounded(const ir::LoopNest& nest, int id);

// A number that is written, or a tensor's only element, where it is known.
std::optional<double> constant_of(const ir::LoopNest& nest,
                                  std::span<const ir::Tensor* const> constants, int id);

// nullopt where anything else stands around the sum, or the root is no sum at all. Rounding to
// f16 and bf16 between the steps is passed over: what keeps more digits there is as good. The nodes
// are those of `nest`; `constants`: by input, its data where they are known (else nullptr), or
// none.
std::optional<Epilogue> find_epilogue(const ir::LoopNest& nest,
                                      std::span<const ir::Tensor* const> constants);

}  // namespace egret::backends::cuda
