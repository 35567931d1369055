// SPDX-License-Identifier: Apache-2.0
// Training of a Wide-ResNet as kernels and bytes, in the place of a transformer: residual blocks of
// three convolutions (1x1, 3x3, 1x1) with batch normalizations (He et al., 2016; Zagoruyko and
// Komodakis, 2016), at the sizes of Alpa's evaluation (Zheng et al., 2022, section 8.1).
//
// A block of C channels on images of side S has products whose rows are places of images:
//
//   1x1   C_in -> C        at S_in
//   3x3   C -> width C     at S; the first block of a group halves the side here
//   1x1   width C -> 4 C   at S
//   1x1   C_in -> 4 C      of a group's first block, beside
//
// Channels are C = channels x 2^group. With n tensor ranks, the first convolution makes a part of
// its channels. The second sums over these and scatters its sums; so does the third, whose sums all
// ranks need. So a block has a reduction to parts and one to all in the forward pass, and a
// gathering and a reduction in the backward pass. The convolution beside makes parts that are
// gathered.
//
// Elements of activations and weights have the size of the products'. A normalization reads its
// input twice and writes it once; its backward pass reads input and gradient twice and writes one.
#pragma once

#include <cstdint>

#include "parallel/transformer/stage_costs.h"

namespace egret::parallel {

// Blocks of so many layers of weights: of 50 and 101; 0 of others.
std::int64_t residual_blocks(std::int64_t depth);

// The embedding is the first convolution with its pooling, the head the last pooling, the product
// with the classes and the loss. `layers` has the blocks.
ModelBlocks wide_resnet_blocks(const System& system, const TrainingSetup& setup);
// Of a micro-batch of one replica, behind so many blocks.
double residual_bytes(const TrainingSetup& setup, std::int64_t blocks);
double wide_resnet_parameters(const TrainingSetup& setup);
double wide_resnet_flops(const TrainingSetup& setup);  // of a step: 3 times the forward products

}  // namespace egret::parallel
