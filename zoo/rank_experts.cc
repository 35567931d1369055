// SPDX-License-Identifier: Apache-2.0
#include "zoo/rank_segment.h"
#include "zoo/rank_transformer.h"

namespace egret::zoo {
namespace {

using ir::DType;
using ir::Value;

const ir::Attrs kRows = {{"axis", std::int64_t{0}}};
const ir::Attrs kColumns = {{"axis", std::int64_t{1}}};

// The router's shares are of f32.
base::Result<RankSegment> route(const RankShape& s, const RankExpertShape& e) {
  SegmentBuilder b(s);
  const Value y = b.input("y", {e.tokens, s.hidden});
  const Value router = b.weight("weights of router", {s.hidden, e.experts});
  const Value logits = b.stored(b("matmul", {y, router}), "logits");
  const Value shares =
      b.stored_alone(b("softmax", {b.cast(logits, DType::kF32)}, kColumns), "shares");
  const Value best = b.stored_alone(
      b("topk_indices", {shares}, {{"axis", std::int64_t{1}}, {"k", e.choices}}), "best");
  const Value chosen = b("gather_elements", {shares, best}, kColumns);
  const Value total =
      b("reduce_sum", {chosen}, {{"axes", ir::Integers{1}}, {"keepdims", std::int64_t{1}}});
  const Value parts = b.stored(b("div", {chosen, total}), "parts");
  const Value origin = b.constant_input("token of row", DType::kI64, {e.sent});
  const Value rows = b.stored(b("gather", {y, origin}, kRows), "rows");
  return b.finish({rows, parts}, {best});
}

// Tokens of an expert that come from several ranks are brought together, and back.
base::Result<RankSegment> experts_of(const RankShape& s, const RankExpertShape& e) {
  SegmentBuilder b(s);
  const std::int64_t all = e.here * e.rows;
  Value x = b.input("rows", {all, s.hidden});
  if (e.sorted) {
    const Value order = b.constant_input("order", DType::kI64, {all});
    x = b.stored(b("gather", {x, order}, kRows), "rows by expert");
  }
  x = b.reshape(x, {e.here, e.rows, s.hidden});
  const std::int64_t columns = (s.gated ? 2 : 1) * e.inner;
  const Value in = b.weight("weights in", {e.here, s.hidden, columns});
  const Value active =
      b.stored(b.activated(b.stored(b("matmul", {x, in}), "inner"), e.inner), "active");
  const Value out = b.weight("weights out", {e.here, e.inner, s.hidden});
  Value result = b("matmul", {active, out});
  if (e.sorted) {
    const Value order = b.constant_input("order of return", DType::kI64, {all});
    result = b("gather", {b.reshape(result, {all, s.hidden}), order}, kRows);
  }
  return b.finish({b.stored(result, "results")});
}

base::Result<RankSegment> combine(const RankShape& s, const RankExpertShape& e) {
  SegmentBuilder b(s);
  const Value rows = b.input("results", {e.sent, s.hidden});
  Value parts = b.real_input("parts", DType::kF32, {e.tokens, e.choices});
  if (e.has_capacity) {
    const Value kept = b.constant_input("has a place", DType::kU8, {e.tokens, e.choices});
    parts = b("mul", {parts, b.cast(kept, DType::kF32)});
  }
  const Value row = b.constant_input("row of choice", DType::kI64, {e.tokens, e.choices});
  const Value weights = b.reshape(b.cast(parts, s.type), {e.tokens, e.choices, 1});
  const Value weighted = b("mul", {b("gather", {rows, row}, kRows), weights});
  return b.finish({b.stored(
      b("reduce_sum", {weighted}, {{"axes", ir::Integers{1}}, {"keepdims", std::int64_t{0}}}),
      "z")});
}

}  // namespace

base::Result<RankExperts> rank_experts(const RankShape& shape, const RankExpertShape& experts) {
  RankExperts result;
  EGRET_ASSIGN_OR_RETURN(result.route, route(shape, experts));
  EGRET_ASSIGN_OR_RETURN(result.experts, experts_of(shape, experts));
  EGRET_ASSIGN_OR_RETURN(result.combine, combine(shape, experts));
  return result;
}

}  // namespace egret::zoo
