// SPDX-License-Identifier: Apache-2.0
// The kernels of a dense layer from graphs of its segments (zoo/rank_transformer.h), in the place
// of the lists in transformer_kernels.h. Exchanges of the tensor group lie between segments:
//
//   attention -> exchange -> join -> feed-forward -> exchange -> join
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "parallel/transformer/graph_kernels.h"

namespace egret::parallel {

struct SegmentKernels {
  GraphKernels kernels;
  std::vector<std::string> weights;  // parameters, by name
  std::vector<std::string> core;     // stored values inside of FlashAttention's kernel
  double weight_elements = 0;        // of weights with more than one axis
};

struct LayerKernels {
  SegmentKernels attention, join, feed_forward;
};

// WEIGHTS are inputs of GRAPH. Errors: those of graph_kernels().
base::Result<SegmentKernels> segment_kernels(const ir::Graph& graph, std::size_t forward_nodes,
                                             std::span<const std::string> weights,
                                             std::span<const std::string> core);

}  // namespace egret::parallel
