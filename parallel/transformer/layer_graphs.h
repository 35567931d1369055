// SPDX-License-Identifier: Apache-2.0
// The kernels of a transformer from graphs of its segments (zoo/rank_transformer.h), in the place
// of the lists in transformer_kernels.h and expert_kernels.h. Exchanges lie between segments: of
// the tensor group, and of tokens with their experts.
//
//   embedding -> exchange -> start
//   attention -> exchange -> join -> feed-forward -> exchange -> join
//   attention -> exchange -> join -> route -> exchange -> experts -> exchange -> combine -> join
//   loss, with exchanges of a number for each token
//
// Normalizations belong to `start` and to joins, so the loss has none.
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
  double ring_bytes = 0;             // of keys and values of all other ranks of a ring
};

struct LayerKernels {
  SegmentKernels attention, join, feed_forward;
  SegmentKernels route, experts, combine;  // empty without experts
  SegmentKernels embedding, start, loss;
};

// WEIGHTS and RING are inputs of GRAPH. Errors: those of graph_kernels().
base::Result<SegmentKernels> segment_kernels(const ir::Graph& graph, std::size_t forward_nodes,
                                             std::span<const std::string> weights,
                                             std::span<const std::string> core,
                                             std::span<const std::string> ring);

}  // namespace egret::parallel
