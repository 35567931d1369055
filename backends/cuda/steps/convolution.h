// SPDX-License-Identifier: Apache-2.0
// Convolutions that cuDNN computes, found by what a definition says: sums over channels and a
// window of products of an image and a filter, where the image's index moves by strides and
// dilations, and what lies outside of it counts as 0; and what stands around the sum (epilogue.h).
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backends/cuda/steps/dnn_step.h"
#include "backends/cuda/steps/tail.h"

namespace egret::backends::cuda {

// relu(scale * sum + added + ...) over tensors [N, C, spatial...], [O, C / groups, window...] ->
// [N, O, spatial...], of two or three spatial axes (one axis becomes two).
struct Convolution {
  struct Tensor {
    int input = -1;                            // of the definition; -1: the output
    std::vector<std::int64_t> sizes, strides;  // in elements; axes in the order above
    ir::DType type = ir::DType::kF32;
  };

  Tensor image, filter, output;
  // Of a tensor with more channels the image is those from here on.
  std::int64_t first_channel = 0, stored_channels = 0;
  int groups = 1;
  std::vector<std::int64_t> pads, pads_after, strides, dilations;  // a spatial axis
  double scale = 1;
  // In order: those with an element for each of the output's, then those with one for each of O, as
  // cuDNN's engines take them.
  std::vector<Tensor> added;
  bool relu = false;
  double most = std::numeric_limits<double>::infinity();  // of the relu
  // Instead of scale, sums and relu: any pointwise operations, whose inputs are `added`.
  std::vector<Tail::Operation> tail;

  bool is_depthwise() const { return groups > 1 && filter.sizes[1] == 1; }
};

// All of them lie row-major, or with channels last; each for itself. Image and filter are of one
// type, all else is of that type too, or of f32.
// `tails`: with a tail too, where what stands around it is not of the other kind.
std::optional<Convolution> find_convolution(const StepDefinition& definition, bool tails);

// Has the result written as part of a larger value. False where it cannot lie so.
bool put(Convolution& convolution, const OutputPart& part);

// Puts it into `operations`. For tests too.
DnnArguments describe(const Convolution& convolution, DnnOperations& operations);

// nullptr where cuDNN has no engine that keeps to kWorkspace and the precision.
std::unique_ptr<LibraryStep> make_convolution_step(Dnn& dnn, const Convolution& convolution);

}  // namespace egret::backends::cuda
