// SPDX-License-Identifier: Apache-2.0
#include "zoo/rank_segment.h"
#include "zoo/rank_transformer.h"

namespace egret::zoo {
namespace {

using ir::DType;
using ir::Value;

// Of ids that other ranks hold, zeros.
base::Result<RankSegment> embedding(const RankShape& s) {
  SegmentBuilder b(s);
  const Value ids = b.constant_input("ids", DType::kI64, {s.micro_batch, s.sequence});
  const Value here = b.constant_input("is here", DType::kU8, {s.micro_batch, s.sequence, 1});
  const Value table = b.weight("table", {s.vocabulary, s.hidden});
  const Value rows = b("gather", {table, ids}, {{"axis", std::int64_t{0}}});
  return b.finish({b.stored(b("mul", {rows, b.cast(here, s.type)}), "embedded")});
}

// Models with a gate, such as Llama, rotate queries and keys instead of adding positions.
base::Result<RankSegment> start(const RankShape& s) {
  SegmentBuilder b(s);
  const Value embedded = b.input("embedded", {s.micro_batch, s.sequence_part, s.hidden});
  Value x = embedded;
  if (!s.gated) x = b("add", {x, b.weight("positions", {s.sequence_part, s.hidden})});
  x = b.dropped(x, "mask");
  if (x.id != embedded.id) b.stored(x, "sum");
  return b.finish({x, b.stored(b.normalized(x), "y")});
}

// Shoeybi et al. (2019), section 3: logits stay where they are computed. The gradient needs the
// exponentials and their sum; Megatron-LM stores the quotient in their place.
base::Result<RankSegment> loss(const RankShape& s) {
  SegmentBuilder b(s);
  const ir::Attrs last = {{"axis", std::int64_t{2}}};
  const ir::Attrs along = {{"axes", ir::Integers{2}}, {"keepdims", std::int64_t{1}}};
  const auto of_tokens = [&](const char* name, DType type) {
    return b.constant_input(name, type, {s.micro_batch, s.sequence, 1});
  };
  const Value y = b.input("y", {s.micro_batch, s.sequence, s.hidden});
  const Value table = b.weight("table", {s.hidden, s.vocabulary});
  const Value logits = b.stored(b("matmul", {y, table}), "logits");
  const Value wide = b.stored(b.cast(logits, DType::kF32), "logits in f32");
  const Value maximum = b.stored_alone(b("reduce_max", {wide}, along), "maximum");
  const Value difference =
      b.stored_alone(b("sub", {wide, of_tokens("maximum of ranks", DType::kF32)}), "difference");
  const Value here = b.cast(of_tokens("is here", DType::kU8), DType::kF32);
  const Value target = b(
      "add",
      {b("mul", {b("gather_elements", {difference, of_tokens("target", DType::kI64)}, last), here}),
       of_tokens("target's logit of other ranks", DType::kF32)});
  const Value exponential = b.stored_alone(b("exp", {difference}), "exponential");
  const Value sum = b.stored_alone(b("reduce_sum", {exponential}, along), "sum");
  const Value sum_of_ranks = b("add", {sum, of_tokens("sum of other ranks", DType::kF32)});
  const Value quotient = b.stored_alone(b("div", {exponential, sum_of_ranks}), "quotient");
  return b.finish({b.stored(b("sub", {b("log", {sum_of_ranks}), target}), "loss")},
                  {maximum, quotient});
}

}  // namespace

base::Result<RankEnds> rank_ends(const RankShape& shape) {
  RankEnds ends;
  EGRET_ASSIGN_OR_RETURN(ends.embedding, embedding(shape));
  EGRET_ASSIGN_OR_RETURN(ends.start, start(shape));
  EGRET_ASSIGN_OR_RETURN(ends.loss, loss(shape));
  return ends;
}

}  // namespace egret::zoo
