// SPDX-License-Identifier: Apache-2.0
// Convolutions that cuDNN computes, recognized from the definition: sums over channels and a window
// of products of an image and a filter. The image's index moves by strides and dilations, and
// elements outside of it count as 0. Operations around the sum are a fused epilogue (epilogue.h).
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
  // The image may be a range of channels of a larger tensor, starting here.
  std::int64_t first_channel = 0, stored_channels = 0;
  int groups = 1;
  std::vector<std::int64_t> pads, pads_after, strides, dilations;  // a spatial axis
  double scale = 1;
  // In the order that cuDNN's engines take them: addends of the output's shape, then one element
  // for each of O.
  std::vector<Tensor> added;
  bool relu = false;
  double most = std::numeric_limits<double>::infinity();  // of the relu
  // Any pointwise operations instead of scale, addends and relu; their inputs are `added`.
  std::vector<Tail::Operation> tail;

  bool is_depthwise() const { return groups > 1 && filter.sizes[1] == 1; }
};

// Each tensor lies row-major or with channels last, independently. Image and filter have one type;
// the others have that type or f32. With `tails`, an epilogue of another form becomes a tail.
std::optional<Convolution> find_convolution(const StepDefinition& definition, bool tails);

// Makes the result a part of a larger value. False where strides cannot express it.
bool put(Convolution& convolution, const OutputPart& part);

// Describes it in `operations`. For tests too.
DnnArguments describe(const Convolution& convolution, DnnOperations& operations);

// nullptr where cuDNN has no engine that keeps to kWorkspace and the precision.
std::unique_ptr<LibraryStep> make_convolution_step(Dnn& dnn, const Convolution& convolution);

}  // namespace egret::backends::cuda
