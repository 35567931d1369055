// SPDX-License-Identifier: Apache-2.0
// Convolutions that cuDNN computes, found by what a definition says: sums over channels and a
// window of products of an image and a filter, where the image's index moves by strides and
// dilations, and what lies outside of it counts as 0.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backends/cuda/library_step.h"

namespace egret::backends::cuda {

// Over row-major tensors [N, C, spatial...], [O, C / groups, window...] -> [N, O, spatial...], of
// two or three spatial axes (one axis becomes two).
struct Convolution {
  int image = -1, filter = -1;  // inputs of the definition
  ir::DType type = ir::DType::kF32;
  int groups = 1;
  std::vector<int> image_sizes, filter_sizes, output_sizes;
  std::vector<int> pads, strides, dilations;  // a spatial axis; pads are the same on both sides
};

std::optional<Convolution> find_convolution(const ir::Denotation& denotation,
                                            std::span<const ir::TensorType> inputs);

// nullptr where cuDNN has no algorithm that keeps to kWorkspace.
std::unique_ptr<LibraryStep> make_convolution_step(const DnnFunctions& dnn, DnnHandle handle,
                                                   const Convolution& convolution);

}  // namespace egret::backends::cuda
