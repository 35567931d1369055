// SPDX-License-Identifier: Apache-2.0
#include "zoo/rank_transformer.h"

#include <cmath>
#include <initializer_list>
#include <utility>

#include "ir/autodiff/gradient.h"
#include "ir/graph/builder.h"

namespace egret::zoo {
namespace {

using ir::Integers;
using ir::Value;

constexpr double kDropped = 0.1;

class SegmentBuilder {
 public:
  explicit SegmentBuilder(const RankShape& shape) : shape_(shape) {}

  Value input(std::string name, std::initializer_list<std::int64_t> sizes) {
    return add_input(std::move(name), shape_.type, sizes);
  }
  Value weight(std::string name, std::initializer_list<std::int64_t> sizes) {
    segment_.weights.push_back(name);
    return add_input(std::move(name), shape_.type, sizes);
  }

  Value operator()(std::string_view op, std::initializer_list<Value> inputs, ir::Attrs attrs = {}) {
    return b_.add(op, inputs, std::move(attrs));
  }
  Value number(double value) { return b_.scalar(shape_.type, value); }
  Value reshape(Value x, Integers sizes) {
    return (*this)("reshape", {x}, {{"shape", std::move(sizes)}});
  }
  Value transpose(Value x, Integers perm) {
    return (*this)("transpose", {x}, {{"perm", std::move(perm)}});
  }
  Value slice_last(Value x, std::int64_t start, std::int64_t size) {
    return (*this)("slice", {x},
                   {{"axis", std::int64_t{b_.type(x).rank() - 1}},
                    {"start", start},
                    {"size", size},
                    {"step", std::int64_t{1}}});
  }
  Value mean_of_rows(Value x) {
    return (*this)("reduce_mean", {x},
                   {{"axes", Integers{b_.type(x).rank() - 1}}, {"keepdims", std::int64_t{1}}});
  }

  // The mask is one byte an element, as it is stored for the backward pass.
  Value dropped(Value x, std::string name) {
    if (!shape_.dropout) return x;
    const Value mask = b_.input(std::move(name), {ir::DType::kU8, b_.type(x).dims});
    const Value kept = (*this)("cast", {mask}, {{"to", std::string(to_string(shape_.type))}});
    return (*this)("mul", {(*this)("mul", {x, kept}), number(1 / (1 - kDropped))});
  }

  Value in_core(Value x, std::string name) {
    segment_.core.push_back(name);
    return stored(x, std::move(name));
  }
  Value stored(Value x, std::string name) {
    b_.set_name(x, std::move(name));
    stored_.push_back(x);
    return x;
  }

  // Adds the gradients. RESULTS are stored values.
  base::Result<RankSegment> finish(std::initializer_list<Value> results) {
    EGRET_RETURN_IF_ERROR(b_.status());
    segment_.forward_nodes = b_.graph().size();
    std::vector<Value> seeds, wanted = differentiated_;
    std::vector<std::string> names;
    for (const Value value : differentiated_) names.push_back(b_.graph().node(value.id).name);
    for (const Value result : results) {
      const std::string& name = b_.graph().node(result.id).name;
      b_.output(name, result);
      seeds.push_back(b_.input(name + "' of later", b_.type(result)));
    }
    wanted.insert(wanted.end(), stored_.begin(), stored_.end());
    EGRET_ASSIGN_OR_RETURN(const std::vector<Value> found,
                           ir::gradients(b_, std::vector<Value>(results), seeds, wanted));
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const bool is_new = found[i].id.index() >= segment_.forward_nodes + seeds.size();
      if (is_new) b_.set_name(found[i], b_.graph().node(wanted[i].id).name + "'");
      if (i < names.size()) b_.output(names[i] + "'", found[i]);
    }
    EGRET_ASSIGN_OR_RETURN(segment_.graph, b_.finish());
    return std::move(segment_);
  }

 private:
  Value add_input(std::string name, ir::DType type, std::initializer_list<std::int64_t> sizes) {
    const Value value = b_.input(std::move(name), {type, ir::Dims(sizes.begin(), sizes.end())});
    differentiated_.push_back(value);
    return value;
  }

  const RankShape& shape_;
  ir::GraphBuilder b_;
  RankSegment segment_;
  std::vector<Value> differentiated_, stored_;
};

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
  const Value scores = b.in_core(b("matmul", {q, b.transpose(k, {0, 1, 2, 4, 3})}), "scores");
  const Value scaled = b("mul", {scores, b.number(1 / std::sqrt(static_cast<double>(s.head)))});
  Value mixed = b.in_core(b("softmax", {b("causal_mask", {scaled})}, {{"axis", std::int64_t{4}}}),
                          "probabilities");
  if (s.dropout) mixed = b.in_core(b.dropped(mixed, "mask of probabilities"), "kept probabilities");
  const Value context = b.in_core(b("matmul", {mixed, v}), "context");
  const Value attended = b.stored(
      b.reshape(b.transpose(context, {0, 3, 1, 2, 4}), {s.micro_batch, s.sequence, queries}),
      "attended");
  const Value projection = b.weight("weights of projection", {queries, s.hidden});
  return b.finish({b.stored(b("matmul", {attended, projection}), "z")});
}

// Layer normalization, or RMSNorm where the feed-forward layer has a gate, as in Llama.
base::Result<RankSegment> join(const RankShape& s) {
  SegmentBuilder b(s);
  const Value x = b.input("x", {s.micro_batch, s.sequence_part, s.hidden});
  Value z = b.input("z", {s.micro_batch, s.sequence_part, s.hidden});
  const Value scale = b.weight("scale", {s.hidden});
  if (!s.gated) z = b("add", {z, b.weight("bias", {s.hidden})});
  const Value sum = b.stored(b("add", {x, b.dropped(z, "mask")}), "sum");
  const Value centered = s.gated ? sum : b("sub", {sum, b.mean_of_rows(sum)});
  const Value variance = b.mean_of_rows(b("mul", {centered, centered}));
  const Value deviation = b("sqrt", {b("add", {variance, b.number(1e-5)})});
  Value normalized = b("mul", {b("div", {centered, deviation}), scale});
  if (!s.gated) normalized = b("add", {normalized, b.weight("shift", {s.hidden})});
  return b.finish({sum, b.stored(normalized, "y")});
}

base::Result<RankSegment> feed_forward(const RankShape& s) {
  SegmentBuilder b(s);
  const Value y = b.input("y", {s.micro_batch, s.sequence, s.hidden});
  const std::int64_t columns = (s.gated ? 2 : 1) * s.inner;
  const Value in = b.stored(b("matmul", {y, b.weight("weights in", {s.hidden, columns})}), "inner");
  Value active;
  if (s.gated) {
    const Value gate = b.slice_last(in, 0, s.inner);
    const Value slope =
        b("div", {b.number(1), b("add", {b("exp", {b("neg", {gate})}), b.number(1)})});
    active = b("mul", {b("mul", {gate, slope}), b.slice_last(in, s.inner, s.inner)});
  } else {
    const Value biased = b("add", {in, b.weight("bias in", {columns})});
    const Value odd = b("erf", {b("mul", {biased, b.number(std::sqrt(0.5))})});
    active = b("mul", {b("mul", {biased, b("add", {odd, b.number(1)})}), b.number(0.5)});
  }
  active = b.stored(active, "active");
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
