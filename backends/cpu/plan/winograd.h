// SPDX-License-Identifier: Apache-2.0
// The choice of Winograd kernels for 3x3 windows (oneDNN 2.6.3): their gain in time against their
// memory. A tile of outputs is 2x2 or 4x4. The library offers one of the two for a convolution,
// with 16/9 or 4 times the bytes of the weights.
#pragma once

#include <cstdint>
#include <string_view>

#include "ir/graph/graph.h"

namespace egret::backends::cpu {

// Whether the implementation, by its name, has 4x4 tiles (otherwise 2x2).
bool has_large_tiles(std::string_view implementation);

// Whether the processor computes two vectors of 16 products a cycle (those with AMX). Direct
// kernels are then twice as fast, Winograd's transformations are not.
bool has_two_product_units();

// Whether an implementation beats the direct kernels; `pixels` are those of all output images.
bool winograd_pays(std::string_view implementation, std::int64_t channels, std::int64_t pixels);

// The memory budget of one plan for large tiles, beyond the weights themselves: the bytes of the
// 3x3 weights, plus a quarter of all weights, plus half of the largest value. VGG-19 and the
// ResNets stay within it or nearly so. Where images are small and channels many it refuses to
// multiply the memory (CSRNet's back end at batch 8: 210 MiB, 87 with the budget). Besides, the
// scratch space of a kernel may not exceed three tenths of the weights plus the largest value: that
// of Inception-v1's second convolution would be a quarter of the whole plan.
class WinogradBudget {
 public:
  // Unlimited if not `limited`; otherwise at least 8 MiB.
  WinogradBudget(const ir::Graph& graph, bool limited);

  // `weights`: bytes beyond the weights themselves. `scratch`: shared by all kernels, the largest
  // counts. False, and nothing is spent, where they exceed the rest or the scratch exceeds its own
  // limit.
  bool spend(std::int64_t weights, std::int64_t scratch);

 private:
  std::int64_t left_ = 0;
  std::int64_t most_scratch_ = 0;
  std::int64_t scratch_ = 0;  // paid for
};

}  // namespace egret::backends::cpu
