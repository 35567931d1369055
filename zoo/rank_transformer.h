// SPDX-License-Identifier: Apache-2.0
// The layers of a decoder-only transformer in training, as one tensor-parallel rank of Megatron-LM
// computes them (Shoeybi et al., 2019; Korthikanti et al., 2022): fused queries, keys and values,
// normalizations and dropout on this rank's part of the sequence. Weights are inputs without data,
// so graphs of any size cost the same.
//
// A layer lies between exchanges of the tensor group:
//
//   attention -> sum over the ranks -> join -> feed-forward -> sum over the ranks -> join
//
// The second join normalizes for the next layer, and the start of the first stage for the first
// one. In a layer with experts, three segments with exchanges of tokens between them take the place
// of the feed-forward layer. What other ranks compute of a sum or hold of a ring is an input.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "ir/graph/graph.h"

namespace egret::zoo {

// Sizes of one rank and one micro-batch.
struct RankShape {
  std::int64_t micro_batch = 1;
  std::int64_t sequence = 2048;       // positions of attention's queries on this rank
  std::int64_t context = 1;           // ranks of the ring that hold so many positions each
  std::int64_t sequence_part = 2048;  // positions of normalizations and dropout on this rank
  std::int64_t hidden = 2048;
  std::int64_t key_heads = 16;      // of this rank
  std::int64_t queries_of_key = 1;  // query heads that share a head of keys and values
  std::int64_t head = 128;          // size of one
  std::int64_t inner = 8192;        // of the feed-forward layer, on this rank
  std::int64_t vocabulary = 51200;  // on this rank
  bool gated = false;               // SwiGLU instead of GELU
  bool dropout = true;
  ir::DType type = ir::DType::kBF16;  // of all activations and weights
};

// A forward pass and its gradients in one graph. A forward value with a name is the result of a
// kernel of Megatron-LM and stays in memory; values without names are inside of kernels. The
// gradient of a value NAME is called NAME'. Inputs: the segment's, its weights, then the gradients
// of its results. Outputs: its results, then the gradients of its inputs and weights.
struct RankSegment {
  ir::Graph graph;
  std::size_t forward_nodes = 0;     // nodes before it are of the forward pass, the rest is not
  std::vector<std::string> weights;  // inputs
  // Stored values that FlashAttention keeps inside of one kernel, and selective recomputation
  // computes again.
  std::vector<std::string> core;
  // Inputs that circulate between the ranks of a ring, and whose gradients do.
  std::vector<std::string> ring;
};

struct RankLayer {
  RankSegment attention;     // y to z: this rank's addend of the projected attention
  RankSegment join;          // x, z to x + dropout(z + bias), and that normalized
  RankSegment feed_forward;  // y to z
};

// Errors: those of building graphs, for sizes that are not positive.
base::Result<RankLayer> rank_layer(const RankShape& shape);

// Of a layer's experts on one rank.
struct RankExpertShape {
  std::int64_t tokens = 2048;  // that this rank routes
  std::int64_t experts = 8;    // of the layer
  std::int64_t choices = 2;    // of a token
  std::int64_t sent = 4096;    // rows for all experts, with the empty places of a capacity
  bool has_capacity = false;   // some choices find no place
  std::int64_t here = 8;       // experts of this rank
  std::int64_t rows = 512;     // of each
  std::int64_t inner = 8192;   // hidden size, on this rank
  bool sorted = false;         // rows of an expert come from several ranks
};

// Which row a choice gets is an index, and so is an input here: a table of the router's choices.
struct RankExperts {
  RankSegment route;    // y to the rows that are sent, and each choice's part of its token
  RankSegment experts;  // rows to rows
  RankSegment combine;  // rows that came back, and parts, to z
};
base::Result<RankExperts> rank_experts(const RankShape& shape, const RankExpertShape& experts);

// Before the first and behind the last layer. Ranks divide the vocabulary. An embedding sums over
// them; the loss needs the maximum, the target's logit and the sum of exponentials of all ranks.
struct RankEnds {
  RankSegment embedding;  // ids to this rank's addend
  RankSegment start;      // positions, dropout and the first normalization
  RankSegment loss;       // y to the loss of each token
};
base::Result<RankEnds> rank_ends(const RankShape& shape);

}  // namespace egret::zoo
