// SPDX-License-Identifier: Apache-2.0
// Encoders, decoders and blocks of transformers (Vaswani et al. 2017), written out in primitive
// operators as exporters write them: it is for rewriting to find the fused forms.
#include <cmath>
#include <vector>

#include "zoo/builders.h"
#include "zoo/network.h"

namespace egret::zoo {
namespace {

using ir::Integers;

struct Width {
  std::int64_t batch, sequence, hidden, heads;
  std::int64_t head() const { return hidden / heads; }
};

// [B, S, heads * d] to [B, heads, S, d].
Value split_heads(Network& n, Value x, const Width& w, std::int64_t heads) {
  return n.transpose(n.reshape(x, {w.batch, w.sequence, heads, w.head()}), {0, 2, 1, 3});
}
Value join_heads(Network& n, Value x, const Width& w) {
  return n.reshape(n.transpose(x, {0, 2, 1, 3}), {w.batch, w.sequence, w.hidden});
}

// Added to scores: 0 where a position may look, a large negative number ahead of it.
Value causal_mask(Network& n, std::int64_t sequence) {
  const Value ones = n.apply("fill", {},
                             {{"shape", Integers{1, 1, sequence, sequence}},
                              {"value", -1e9},
                              {"dtype", std::string("f32")}});
  return n.apply("trilu", {ones}, {{"upper", std::int64_t{1}}, {"k", std::int64_t{1}}});
}

Value attention(Network& n, Value x, const Width& w, bool bias, bool causal) {
  const Value q = split_heads(n, n.linear(x, w.hidden, bias), w, w.heads);
  const Value k = split_heads(n, n.linear(x, w.hidden, bias), w, w.heads);
  const Value v = split_heads(n, n.linear(x, w.hidden, bias), w, w.heads);
  Value scores = n.apply("matmul", {q, n.transpose(k, {0, 1, 3, 2})});
  scores = n.apply("div", {scores, n.scalar(std::sqrt(static_cast<double>(w.head())))});
  if (causal) scores = n.add(scores, causal_mask(n, w.sequence));
  const Value mixed = n.apply("matmul", {n.softmax(scores), v});
  return n.linear(join_heads(n, mixed, w), w.hidden, bias);
}

// 0.5 x (1 + erf(x / sqrt 2)), as PyTorch exports it.
Value gelu_erf(Network& n, Value x) {
  const Value e = n.apply("erf", {n.apply("div", {x, n.scalar(std::sqrt(2.0))})});
  return n.mul(n.mul(x, n.add(e, n.scalar(1))), n.scalar(0.5));
}

// The tanh approximation, as GPT-2 has it.
Value gelu_tanh(Network& n, Value x) {
  const Value cube = n.mul(n.mul(x, x), x);
  const Value inner = n.add(x, n.mul(cube, n.scalar(0.044715)));
  const Value t = n.apply("tanh", {n.mul(inner, n.scalar(std::sqrt(2.0 / M_PI)))});
  return n.mul(n.mul(x, n.add(t, n.scalar(1))), n.scalar(0.5));
}

Width width_of(const ZooOptions& options, std::int64_t sequence, std::int64_t hidden,
               std::int64_t heads) {
  return {options.batch, options.sequence > 0 ? options.sequence : sequence, hidden, heads};
}

base::Result<ir::Graph> bert(std::string name, int layers, std::int64_t hidden, std::int64_t heads,
                             const ZooOptions& options) {
  const Width w = width_of(options, 128, hidden, heads);
  Network n(std::move(name), options.seed);
  Value x = n.layer_norm(n.input("embeddings", {w.batch, w.sequence, w.hidden}));
  for (int layer = 0; layer < layers; ++layer) {
    x = n.layer_norm(n.add(x, attention(n, x, w, true, false)));
    const Value inner = gelu_erf(n, n.linear(x, 4 * hidden));
    x = n.layer_norm(n.add(x, n.linear(inner, hidden)));
  }
  return n.finish(x);
}

// x / sqrt(mean(x^2) + eps) * g, written out.
Value rms_norm(Network& n, Value x) {
  const Value squares = n.mul(x, x);
  const Value mean = n.apply("reduce_mean", {squares},
                             {{"axes", Integers{n.rank(x) - 1}}, {"keepdims", std::int64_t{1}}});
  const Value root = n.apply("sqrt", {n.add(mean, n.scalar(1e-6))});
  return n.mul(n.apply("div", {x, root}), n.vector(n.size(x, -1), 0.5, 1.5));
}

Value slice_last(Network& n, Value x, std::int64_t start, std::int64_t size) {
  return n.apply("slice", {x},
                 {{"axis", std::int64_t{n.rank(x) - 1}},
                  {"start", start},
                  {"size", size},
                  {"step", std::int64_t{1}}});
}

// Rotary position embedding (Su et al. 2021): pairs (x_i, x_{i+d/2}) turned by position.
Value rotary(Network& n, Value x, Value cosine, Value sine) {
  const std::int64_t half = n.size(x, -1) / 2;
  const Value parts[] = {n.apply("neg", {slice_last(n, x, half, half)}), slice_last(n, x, 0, half)};
  return n.add(n.mul(x, cosine), n.mul(n.concat(parts, n.rank(x) - 1), sine));
}

// Each of `groups` key heads serves heads / groups query heads.
Value repeat_heads(Network& n, Value x, const Width& w, std::int64_t groups) {
  const std::int64_t times = w.heads / groups;
  x = n.reshape(x, {w.batch, groups, 1, w.sequence, w.head()});
  x = n.apply("broadcast", {x},
              {{"shape", Integers{w.batch, groups, times, w.sequence, w.head()}}});
  return n.reshape(x, {w.batch, w.heads, w.sequence, w.head()});
}

}  // namespace

base::Result<ir::Graph> bert_base(const ZooOptions& options) {
  return bert("bert-base", 12, 768, 12, options);
}
base::Result<ir::Graph> bert_large(const ZooOptions& options) {
  return bert("bert-large", 24, 1024, 16, options);
}

base::Result<ir::Graph> bert_pet(const ZooOptions& options) {
  const Width w = width_of(options, 512, 768, 12);
  Network n("bert-pet", options.seed);
  Value x = n.input("embeddings", {w.batch, w.sequence, w.hidden});
  for (int layer = 0; layer < 12; ++layer) {
    x = n.add(x, attention(n, x, w, false, false));
    x = n.add(x, n.linear(n.relu(n.linear(x, w.hidden, false)), w.hidden, false));
  }
  return n.finish(x);
}

// Two-dimensional activations [S, hidden], heads as a batch axis; the products of queries and keys
// go straight to the values.
//
// Without a softmax a layer is cubic in its input and eight of them have degree 6561, so that most
// weights send the output to zero or to infinity. The last weights of each layer are therefore
// drawn smaller by what the layer was measured to amplify by, as layer-sequential unit-variance
// initialization does (Mishkin & Matas, ICLR 2016), at the model's own sizes and inputs in [-1, 1].
base::Result<ir::Graph> bert_taso(const ZooOptions& options) {
  constexpr double kAmplification[] = {50.6, 301, 340, 380, 406, 466, 529, 592};
  const Width w = width_of(options, 64, 1024, 16);
  Network n("bert-taso", options.seed);
  const std::int64_t rows = w.batch * w.sequence;
  Value x = n.input("embeddings", {rows, w.hidden});
  for (const double amplification : kAmplification) {
    const auto heads = [&](bool keys) {
      const Value y =
          n.reshape(n.linear(x, w.hidden, false), {w.batch, w.sequence, w.heads, w.head()});
      return keys ? n.transpose(y, {0, 2, 3, 1}) : n.transpose(y, {0, 2, 1, 3});
    };
    const Value q = heads(false);
    const Value k = heads(true);
    const Value v = heads(false);
    const Value mixed = n.apply("matmul", {n.apply("matmul", {q, k}), v});
    const Value joined = n.reshape(n.transpose(mixed, {0, 2, 1, 3}), {rows, w.hidden});
    const auto fan_in = static_cast<double>(w.hidden) * amplification * amplification;
    x = n.apply("matmul",
                {joined, n.weight({w.hidden, w.hidden}, static_cast<std::int64_t>(fan_in))});
  }
  return n.finish(x);
}

base::Result<ir::Graph> gpt2(const ZooOptions& options) {
  const Width w = width_of(options, 128, 768, 12);
  Network n("gpt2", options.seed);
  Value x = n.input("embeddings", {w.batch, w.sequence, w.hidden});
  for (int layer = 0; layer < 12; ++layer) {
    x = n.add(x, attention(n, n.layer_norm(x), w, true, true));
    x = n.add(x, n.linear(gelu_tanh(n, n.linear(n.layer_norm(x), 4 * w.hidden)), w.hidden));
  }
  return n.finish(n.layer_norm(x));
}

base::Result<ir::Graph> llama_block(const ZooOptions& options) {
  const Width w = width_of(options, 128, 1024, 16);
  constexpr std::int64_t kKeyHeads = 4;
  constexpr std::int64_t kInner = 2816;
  Network n("llama-block", options.seed);
  const Value input = n.input("hidden", {w.batch, w.sequence, w.hidden});
  const Value cosine = n.input("cosine", {1, 1, w.sequence, w.head()});
  const Value sine = n.input("sine", {1, 1, w.sequence, w.head()});

  const Value x = rms_norm(n, input);
  const Value q = rotary(n, split_heads(n, n.linear(x, w.hidden, false), w, w.heads), cosine, sine);
  Value k = split_heads(n, n.linear(x, kKeyHeads * w.head(), false), w, kKeyHeads);
  Value v = split_heads(n, n.linear(x, kKeyHeads * w.head(), false), w, kKeyHeads);
  k = repeat_heads(n, rotary(n, k, cosine, sine), w, kKeyHeads);
  v = repeat_heads(n, v, w, kKeyHeads);
  Value scores = n.apply("matmul", {q, n.transpose(k, {0, 1, 3, 2})});
  scores = n.mul(scores, n.scalar(1 / std::sqrt(static_cast<double>(w.head()))));
  scores = n.softmax(n.add(scores, causal_mask(n, w.sequence)));
  const Value mixed = join_heads(n, n.apply("matmul", {scores, v}), w);
  const Value attended = n.add(input, n.linear(mixed, w.hidden, false));

  const Value y = rms_norm(n, attended);
  const Value gate = n.linear(y, kInner, false);
  const Value swish = n.mul(gate, n.apply("sigmoid", {gate}));
  const Value up = n.linear(y, kInner, false);
  return n.finish(n.add(attended, n.linear(n.mul(swish, up), w.hidden, false)));
}

}  // namespace egret::zoo
