// SPDX-License-Identifier: Apache-2.0
#include "zoo/rank_transformer.h"

#include <cmath>
#include <string>
#include <vector>

#include "zoo/rank_segment.h"

namespace egret::zoo {
namespace {

using ir::Value;

base::Result<RankSegment> attention(const RankShape& s) {
  SegmentBuilder b(s);
  const std::int64_t groups = s.queries_of_key;
  const std::int64_t queries = s.key_heads * groups * s.head, keys = s.key_heads * s.head;
  const Value y = b.input("y", {s.micro_batch, s.sequence, s.hidden});
  const Value weights =
      b.weight("weights of queries, keys, values", {s.hidden, queries + 2 * keys});
  const Value bias = b.weight("bias of queries, keys, values", {queries + 2 * keys});
  const Value all = b.stored(b("matmul", {y, weights}), "queries, keys, values");
  const Value biased = b("add", {all, bias});
  // [b, s, heads x d] to [b, key heads, query heads of each, s, d].
  const auto heads = [&](std::int64_t start, std::int64_t of_key, const char* name) {
    const Value part = b.slice_last(biased, start, s.key_heads * of_key * s.head);
    return b.stored(
        b.transpose(b.reshape(part, {s.micro_batch, s.sequence, s.key_heads, of_key, s.head}),
                    {0, 2, 3, 1, 4}),
        name);
  };
  const Value q = heads(0, groups, "queries"), k = heads(queries, 1, "keys"),
              v = heads(queries + keys, 1, "values");
  // A block of keys and values for each rank of the ring, its own first.
  std::vector<Value> block_keys = {k}, block_values = {v};
  for (std::int64_t i = 1; i < s.context; ++i) {
    const auto received = [&](const char* name) {
      return b.ring_input(name + (" of rank " + std::to_string(i)),
                          {s.micro_batch, s.key_heads, 1, s.sequence, s.head});
    };
    block_keys.push_back(received("keys"));
    block_values.push_back(received("values"));
  }
  const auto named = [&](const char* name, std::size_t block) {
    return s.context == 1 ? name : name + (" of block " + std::to_string(block));
  };
  std::vector<Value> scores;
  for (std::size_t i = 0; i < block_keys.size(); ++i)
    scores.push_back(b.in_core(b("matmul", {q, b.transpose(block_keys[i], {0, 1, 2, 4, 3})}),
                               named("scores", i)));
  const Value all_scores = scores.size() == 1 ? scores[0] : b.joined(scores, 4);
  const Value scaled = b("mul", {all_scores, b.number(1 / std::sqrt(static_cast<double>(s.head)))});
  // The ranks of a ring hold an early and a late piece of the sequence, so that all have half of
  // the pairs: their mask is no triangle.
  const Value masked =
      s.context == 1 ? b("causal_mask", {scaled})
                     : b("add", {scaled, b.constant_input("mask of positions", s.type,
                                                          {s.sequence, s.context * s.sequence})});
  Value mixed = b.in_core(b("softmax", {masked}, {{"axis", std::int64_t{4}}}), "probabilities");
  if (s.dropout) mixed = b.in_core(b.dropped(mixed, "mask of probabilities"), "kept probabilities");
  Value context;
  for (std::size_t i = 0; i < block_values.size(); ++i) {
    const Value part =
        s.context == 1 ? mixed
                       : b.slice_last(mixed, static_cast<std::int64_t>(i) * s.sequence, s.sequence);
    const Value product = b.in_core(b("matmul", {part, block_values[i]}), named("context", i));
    context = context.valid() ? b("add", {context, product}) : product;
  }
  const Value attended = b.stored(
      b.reshape(b.transpose(context, {0, 3, 1, 2, 4}), {s.micro_batch, s.sequence, queries}),
      "attended");
  const Value projection = b.weight("weights of projection", {queries, s.hidden});
  return b.finish({b.stored(b("matmul", {attended, projection}), "z")});
}

base::Result<RankSegment> join(const RankShape& s) {
  SegmentBuilder b(s);
  const Value x = b.input("x", {s.micro_batch, s.sequence_part, s.hidden});
  Value z = b.input("z", {s.micro_batch, s.sequence_part, s.hidden});
  if (!s.gated) z = b("add", {z, b.weight("bias", {s.hidden})});
  const Value sum = b.stored(b("add", {x, b.dropped(z, "mask")}), "sum");
  return b.finish({sum, b.stored(b.normalized(sum), "y")});
}

base::Result<RankSegment> feed_forward(const RankShape& s) {
  SegmentBuilder b(s);
  const Value y = b.input("y", {s.micro_batch, s.sequence, s.hidden});
  const std::int64_t columns = (s.gated ? 2 : 1) * s.inner;
  const Value in = b.stored(b("matmul", {y, b.weight("weights in", {s.hidden, columns})}), "inner");
  const Value biased = s.gated ? in : b("add", {in, b.weight("bias in", {columns})});
  const Value active = b.stored(b.activated(biased, s.inner), "active");
  const Value out = b.weight("weights out", {s.inner, s.hidden});
  return b.finish({b.stored(b("matmul", {active, out}), "z")});
}

}  // namespace

base::Result<RankLayer> rank_layer(const RankShape& shape) {
  RankLayer layer;
  EGRET_ASSIGN_OR_RETURN(layer.attention, attention(shape));
  EGRET_ASSIGN_OR_RETURN(layer.join, join(shape));
  EGRET_ASSIGN_OR_RETURN(layer.feed_forward, feed_forward(shape));
  return layer;
}

}  // namespace egret::zoo
