// SPDX-License-Identifier: Apache-2.0
// A convolution as a product of the filter with a matrix whose rows are the windows of the image
// (Chellapilla, Puri and Simard, "High performance convolutional neural networks for document
// processing", 2006, who call it unrolling).
#pragma once

#include <optional>

#include "backends/cuda/steps/convolution.h"
#include "backends/cuda/steps/gemm.h"

namespace egret::backends::cuda {

struct WindowMatrix {
  ir::Denotation denotation;  // of its elements, over the image as it is stored
  ir::TensorType image;
};

// [N, spatial..., K] where the output's channels lie last, else [N, K, spatial...]. K runs over the
// filter's channels and window, in the filter's order.
WindowMatrix window_matrix(const Convolution& convolution);

// The convolution as a product with that matrix, which is input `matrix`; nullopt where cuBLASLt
// does not support the epilogue, or with groups.
std::optional<Gemm> window_product(const Convolution& convolution, int matrix);

}  // namespace egret::backends::cuda
