// SPDX-License-Identifier: Apache-2.0
#include "tools/arguments/layer_graphs.h"

#include <algorithm>

#include "zoo/rank_transformer.h"

namespace egret::tools {
namespace {

base::Result<parallel::SegmentKernels> kernels_of(const zoo::RankSegment& segment) {
  return parallel::segment_kernels(segment.graph, segment.forward_nodes, segment.weights,
                                   segment.core);
}

zoo::RankShape shape_of(const parallel::TrainingSetup& setup) {
  const std::int64_t keys = setup.kv_heads > 0 ? setup.kv_heads : setup.heads;
  zoo::RankShape shape;
  shape.micro_batch = setup.micro_batch;
  shape.sequence = setup.sequence;
  shape.sequence_part = setup.sequence / (setup.sequence_parallel ? setup.tensor : 1);
  shape.hidden = setup.hidden;
  // Ranks beyond the number of key heads share them.
  shape.key_heads = std::max<std::int64_t>(keys / setup.tensor, 1);
  shape.queries_of_key = setup.heads / setup.tensor / shape.key_heads;
  shape.head = static_cast<std::int64_t>(setup.head_size());
  shape.inner = setup.ffn_size() / setup.tensor;
  shape.gated = setup.gated;
  shape.dropout = !setup.no_dropout;
  return shape;
}

}  // namespace

base::Result<std::shared_ptr<const parallel::LayerKernels>> layer_kernels_of(
    const parallel::TrainingSetup& setup) {
  if (setup.experts > 0 || setup.context > 1)
    return base::usage_error("--from-graphs cannot be combined with --experts and --cp");
  EGRET_ASSIGN_OR_RETURN(const zoo::RankLayer layer, zoo::rank_layer(shape_of(setup)));
  auto kernels = std::make_shared<parallel::LayerKernels>();
  EGRET_ASSIGN_OR_RETURN(kernels->attention, kernels_of(layer.attention));
  EGRET_ASSIGN_OR_RETURN(kernels->join, kernels_of(layer.join));
  EGRET_ASSIGN_OR_RETURN(kernels->feed_forward, kernels_of(layer.feed_forward));
  return std::shared_ptr<const parallel::LayerKernels>(std::move(kernels));
}

}  // namespace egret::tools
