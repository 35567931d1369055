// SPDX-License-Identifier: Apache-2.0
// Convolutions that cuDNN computes, found by what a definition says: sums over channels and a
// window of products of an image and a filter, where the image's index moves by strides and
// dilations, and what lies outside of it counts as 0; and what stands around the sum (epilogue.h).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backends/cuda/dnn_graph.h"
#include "backends/cuda/library_step.h"

namespace egret::backends::cuda {

// relu(scale * sum + added + ...) over row-major tensors [N, C, spatial...], [O, C / groups,
// window...] -> [N, O, spatial...], of two or three spatial axes (one axis becomes two).
struct Convolution {
  struct Added {
    int input = -1;
    bool is_bias = false;  // an element for each of O; else one for each of the output
  };

  int image = -1, filter = -1;  // inputs of the definition
  ir::DType type = ir::DType::kF32;
  int groups = 1;
  std::vector<std::int64_t> image_sizes, filter_sizes, output_sizes;
  std::vector<std::int64_t> pads, pads_after, strides, dilations;  // a spatial axis
  double scale = 1;
  std::vector<Added> added;  // in order
  bool relu = false;
};

std::optional<Convolution> find_convolution(const StepDefinition& definition);

// Puts it into `operations` and returns the ids of the definition's inputs, by input (0: it is not
// read as a tensor), and of the output, last. For tests too.
std::vector<std::int64_t> describe(const Convolution& convolution, DnnOperations& operations);

// nullptr where cuDNN has no engine that keeps to kWorkspace and the precision.
std::unique_ptr<LibraryStep> make_convolution_step(const DnnFunctions& dnn, DnnHandle handle,
                                                   const Convolution& convolution,
                                                   Precision precision);

}  // namespace egret::backends::cuda
