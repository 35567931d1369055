// SPDX-License-Identifier: Apache-2.0
#include "tools/arguments/layer_graphs.h"

#include <algorithm>
#include <cmath>

#include "parallel/transformer/experts.h"
#include "zoo/rank_transformer.h"

namespace egret::tools {
namespace {

base::Result<parallel::SegmentKernels> kernels_of(const zoo::RankSegment& segment) {
  return parallel::segment_kernels(segment.graph, segment.forward_nodes, segment.weights,
                                   segment.core, segment.ring);
}

zoo::RankShape shape_of(const parallel::TrainingSetup& setup) {
  const std::int64_t keys = setup.kv_heads > 0 ? setup.kv_heads : setup.heads;
  zoo::RankShape shape;
  shape.micro_batch = setup.micro_batch;
  shape.sequence = setup.sequence / setup.context;
  shape.context = setup.context;
  shape.sequence_part = shape.sequence / (setup.sequence_parallel ? setup.tensor : 1);
  shape.hidden = setup.hidden;
  // Ranks beyond the number of key heads share them.
  shape.key_heads = std::max<std::int64_t>(keys / setup.tensor, 1);
  shape.queries_of_key = setup.heads / setup.tensor / shape.key_heads;
  shape.head = static_cast<std::int64_t>(setup.head_size());
  shape.inner = setup.ffn_size() / setup.tensor;
  shape.vocabulary = (setup.vocabulary + setup.tensor - 1) / setup.tensor;
  shape.gated = setup.gated;
  shape.dropout = !setup.no_dropout;
  return shape;
}

// Where experts are chosen unequally often, the rows of one are rounded up.
zoo::RankExpertShape experts_of(const parallel::TrainingSetup& setup) {
  constexpr double kRounding = 1e-6;
  const parallel::ExpertRows rows = parallel::expert_rows(setup);
  zoo::RankExpertShape shape;
  shape.tokens = static_cast<std::int64_t>(parallel::routed_tokens(setup));
  shape.experts = setup.experts;
  shape.choices = setup.top_k;
  shape.sent = static_cast<std::int64_t>(rows.sent);
  shape.has_capacity = setup.capacity_factor > 0;
  shape.here = setup.experts / setup.expert_parallel;
  shape.rows = static_cast<std::int64_t>(std::ceil(rows.per_expert - kRounding));
  shape.inner = setup.expert_ffn_size() / setup.expert_tensor_degree();
  shape.sorted = parallel::sorts_expert_rows(setup);
  return shape;
}

}  // namespace

base::Result<std::shared_ptr<const parallel::LayerKernels>> layer_kernels_of(
    const parallel::TrainingSetup& setup) {
  const zoo::RankShape shape = shape_of(setup);
  EGRET_ASSIGN_OR_RETURN(const zoo::RankLayer layer, zoo::rank_layer(shape));
  EGRET_ASSIGN_OR_RETURN(const zoo::RankEnds ends, zoo::rank_ends(shape));
  auto kernels = std::make_shared<parallel::LayerKernels>();
  EGRET_ASSIGN_OR_RETURN(kernels->attention, kernels_of(layer.attention));
  EGRET_ASSIGN_OR_RETURN(kernels->join, kernels_of(layer.join));
  EGRET_ASSIGN_OR_RETURN(kernels->feed_forward, kernels_of(layer.feed_forward));
  EGRET_ASSIGN_OR_RETURN(kernels->embedding, kernels_of(ends.embedding));
  EGRET_ASSIGN_OR_RETURN(kernels->start, kernels_of(ends.start));
  EGRET_ASSIGN_OR_RETURN(kernels->loss, kernels_of(ends.loss));
  if (setup.experts > 0) {
    EGRET_ASSIGN_OR_RETURN(const zoo::RankExperts experts,
                           zoo::rank_experts(shape, experts_of(setup)));
    EGRET_ASSIGN_OR_RETURN(kernels->route, kernels_of(experts.route));
    EGRET_ASSIGN_OR_RETURN(kernels->experts, kernels_of(experts.experts));
    EGRET_ASSIGN_OR_RETURN(kernels->combine, kernels_of(experts.combine));
  }
  return std::shared_ptr<const parallel::LayerKernels>(std::move(kernels));
}

}  // namespace egret::tools
