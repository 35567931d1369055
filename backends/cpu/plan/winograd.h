// SPDX-License-Identifier: Apache-2.0
// When Winograd's kernels of 3x3 windows are taken (oneDNN 2.6.3): what they gain in time, and what
// they may take in memory for that. A tile of outputs is 2x2 or 4x4; the library offers one of the
// two for a convolution, with 16/9 or 4 times the bytes of the weights.
#pragma once

#include <cstdint>
#include <string_view>

#include "ir/graph/graph.h"

namespace egret::backends::cpu {

// Tiles of 4x4, by the name of an implementation; else of 2x2.
bool has_large_tiles(std::string_view implementation);

// Whether the processor computes two vectors of 16 products a cycle, so that direct kernels are
// twice as fast and Winograd's transformations are not: those with AMX.
bool has_two_product_units();

// Whether an implementation beats the direct kernels; `pixels` are those of all output images.
bool winograd_pays(std::string_view implementation, std::int64_t channels, std::int64_t pixels);

// The bytes that the large tiles of one plan may take beyond the weights as they are: as many as
// the weights of 3x3 windows, a quarter of all weights and half of the largest value take. VGG-19
// and the ResNets stay within that or nearly so; where images are small and have many channels it
// refuses what would multiply the memory (CSRNet's back end at batch 8: 210 MiB, 87 with it). And
// no kernel's scratch space may be more than three tenths of the weights and the largest value are:
// that of Inception-v1's second convolution would be a quarter of what the whole plan takes.
class WinogradBudget {
 public:
  // All bytes of a graph with no limit; at least 8 MiB of others.
  WinogradBudget(const ir::Graph& graph, bool limited);

  // `weights`: beyond those that are there anyway; `scratch`: shared by all kernels, the largest
  // counts. False: they exceed what is left, or the scratch is too much by itself, and nothing is
  // spent.
  bool spend(std::int64_t weights, std::int64_t scratch);

 private:
  std::int64_t left_ = 0;
  std::int64_t most_scratch_ = 0;
  std::int64_t scratch_ = 0;  // paid for
};

}  // namespace egret::backends::cpu
