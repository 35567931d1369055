// SPDX-License-Identifier: Apache-2.0
// What constants do to each channel of a convolution's result, taken into its weights and bias: a
// batch norm then costs nothing, and Winograd's kernels, which have no post-operation for it, stay
// possible.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/cpu/plan/epilogue.h"
#include "ir/core/tensor.h"
#include "ir/graph/graph.h"

namespace egret::backends::cpu {

// x[c] becomes scale[c] x[c] + shift[c].
struct ChannelAffine {
  std::vector<double> scale, shift;  // by channel

  bool scales() const;
  bool shifts() const;
  // Weights [channels, ..] with each channel's multiplied by its scale.
  ir::Tensor scaled(const ir::Tensor& weights) const;
  ir::Tensor bias() const;  // [channels]
};

// Removes the first of `operations` as long as they multiply channels by finite constants (only if
// `may_scale`) or add such to them, and returns what they do to a value of the shape [n, channels,
// ..] that `shift` (empty: zeros) was added to.
ChannelAffine take_channel_affine(const ir::Graph& graph, const ir::Shape& shape, bool may_scale,
                                  std::vector<double> shift,
                                  std::vector<PostOperation>& operations);

}  // namespace egret::backends::cpu
