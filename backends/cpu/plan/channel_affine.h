// SPDX-License-Identifier: Apache-2.0
// Folds constant scales and shifts of a convolution's channels into its weights and bias. A batch
// norm then costs nothing, and Winograd kernels, which lack such post-operations, stay possible.
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

// Removes leading `operations` that multiply channels by constants (only if `may_scale`) or add
// constants to them; not by such that are not finite or that leave no fraction. Returns their joint
// effect on a value of shape [n, channels, ..] to which `shift` (empty: zeros) was added.
ChannelAffine take_channel_affine(const ir::Graph& graph, const ir::Shape& shape, bool may_scale,
                                  std::vector<double> shift,
                                  std::vector<PostOperation>& operations);

}  // namespace egret::backends::cpu
