// SPDX-License-Identifier: Apache-2.0
#include "tests/property/random_graph.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "ir/graph/builder.h"

namespace egret::testing_support {
namespace {

using ir::Attrs;
using ir::DType;
using ir::Integers;
using ir::Value;

class RandomGraph {
 public:
  explicit RandomGraph(base::Random& random) : random_(random) {}

  ir::Graph build() {
    const bool image = random_.chance(0.6);
    add_input(image);
    if (random_.chance(0.3)) add_input(image);
    const auto layers = random_.between(2, 10);
    for (std::int64_t i = 0; i < layers; ++i) layer();
    // The last value, and sometimes another, so that sharing between outputs occurs.
    b_.output("out0", values_.back());
    if (random_.chance(0.3)) b_.output("out1", pick());
    auto graph = b_.finish();
    EGRET_CHECK(graph.ok(), "the generator makes well-typed graphs");
    return ir::without_dead_nodes(*graph);
  }

 private:
  using Layer = void (RandomGraph::*)(Value);

  void add_input(bool image) {
    const std::string name = "in" + std::to_string(values_.size());
    const std::int64_t n = random_.between(1, 2);
    if (image) {
      const std::int64_t h = random_.between(1, 7);
      keep(b_.input(name, {DType::kF32, {n, 2 * random_.between(1, 2), h, random_.between(1, 7)}}));
    } else {
      keep(b_.input(name, {DType::kF32, {n, random_.between(1, 5), random_.between(1, 6)}}));
    }
  }

  Value pick() { return values_[random_.below(values_.size())]; }
  // Recent values more often, so that graphs get deep.
  Value pick_recent() {
    const std::size_t span = std::min<std::size_t>(values_.size(), 3);
    return random_.chance(0.7) ? values_[values_.size() - 1 - random_.below(span)] : pick();
  }
  void keep(Value value) {
    if (value.valid()) values_.push_back(value);
  }
  ir::Shape shape(Value x) { return b_.type(x).shape(); }
  int rank(Value x) { return b_.type(x).rank(); }
  std::int64_t axis(Value x) { return random_.between(0, rank(x) - 1); }
  Value weight(std::initializer_list<std::int64_t> sizes) {
    base::Random stream = random_.split(random_.next());
    return b_.constant(ir::Tensor::random({DType::kF32, sizes}, stream));
  }
  Value positive(std::int64_t size) {
    base::Random stream = random_.split(random_.next());
    ir::Tensor tensor = ir::Tensor::random({DType::kF32, {size}}, stream);
    for (float& element : tensor.mutable_as<float>()) element = element * 0.4F + 1.0F;
    return b_.constant(tensor);
  }

  void layer() {
    static constexpr std::array kLayers = {
        &RandomGraph::conv,          &RandomGraph::conv,       &RandomGraph::conv,
        &RandomGraph::sibling_convs, &RandomGraph::matmul,     &RandomGraph::matmul,
        &RandomGraph::siblings,      &RandomGraph::batch_norm, &RandomGraph::unary,
        &RandomGraph::unary,         &RandomGraph::unary,      &RandomGraph::binary,
        &RandomGraph::binary,        &RandomGraph::scalar,     &RandomGraph::reshape,
        &RandomGraph::transpose,     &RandomGraph::transpose,  &RandomGraph::slice,
        &RandomGraph::concat,        &RandomGraph::concat,     &RandomGraph::pool,
        &RandomGraph::reduce,        &RandomGraph::softmax,    &RandomGraph::pad};
    const Value x = pick_recent();
    (this->*kLayers[random_.below(kLayers.size())])(x);
  }

  Value apply(std::string_view op, std::initializer_list<Value> inputs, Attrs attrs = {}) {
    return b_.add(op, inputs, std::move(attrs));
  }

  Value make_conv(Value x, std::int64_t kernel, std::int64_t stride, bool bias) {
    const ir::Shape s = shape(x);
    const std::int64_t pad = random_.chance(0.8) || s[2] < kernel || s[3] < kernel ? kernel / 2 : 0;
    const std::int64_t group = s[1] % 2 == 0 && random_.chance(0.2) ? 2 : 1;
    const std::int64_t filters = 2 * random_.between(1, 3);
    Attrs attrs{{"strides", Integers{stride, stride}},
                {"pads", Integers{pad, pad, pad, pad}},
                {"dilations", Integers{1, 1}},
                {"group", group}};
    const Value w = weight({filters, s[1] / group, kernel, kernel});
    if (!bias) return apply("conv", {x, w}, attrs);
    attrs.set("activation", std::string(random_.chance(0.5) ? "none" : "relu"));
    return apply("fused_conv", {x, w, weight({filters})}, attrs);
  }
  void conv(Value x) {
    if (rank(x) != 4) return;
    keep(make_conv(x, random_.chance(0.5) ? 1 : 3, random_.between(1, 2), random_.chance(0.4)));
  }
  void sibling_convs(Value x) {
    if (rank(x) != 4) return;
    const std::int64_t stride = random_.between(1, 2);
    const bool bias = random_.chance(0.5);
    const Value parts[] = {make_conv(x, 1, stride, bias),
                           make_conv(x, random_.chance(0.5) ? 1 : 3, stride, bias)};
    if (shape(parts[0]).size() == 4 && shape(parts[0])[2] == shape(parts[1])[2] &&
        shape(parts[0])[3] == shape(parts[1])[3] && random_.chance(0.6)) {
      keep(b_.add("concat", parts, {{"axis", std::int64_t{1}}}));
    } else {
      keep(parts[0]);
      keep(parts[1]);
    }
  }
  Value make_matmul(Value x) {
    const ir::Shape s = shape(x);
    return apply("matmul", {x, weight({s.back(), random_.between(1, 6)})});
  }
  void matmul(Value x) {
    if (rank(x) < 2) return;
    const Value product = make_matmul(x);
    keep(random_.chance(0.5) ? apply("add", {product, weight({shape(product).back()})}) : product);
  }
  void siblings(Value x) {
    if (rank(x) < 2) return;
    keep(make_matmul(x));
    keep(make_matmul(x));
  }
  void batch_norm(Value x) {
    if (rank(x) < 2) return;
    const std::int64_t c = shape(x)[1];
    keep(apply("batch_norm", {x, weight({c}), weight({c}), weight({c}), positive(c)},
               {{"epsilon", 1e-5}}));
  }
  void unary(Value x) {
    static constexpr std::array kOps = {"relu", "relu", "sigmoid", "tanh",
                                        "neg",  "abs",  "identity"};
    keep(apply(kOps[random_.below(kOps.size())], {x}));
  }
  void binary(Value x) {
    static constexpr std::array kOps = {"add", "mul", "sub", "max", "min"};
    Value other = x;
    for (int i = 0; i < 4 && shape(other) == shape(x) && other.id == x.id; ++i) {
      const Value candidate = pick();
      if (shape(candidate) == shape(x)) other = candidate;
    }
    keep(apply(kOps[random_.below(kOps.size())], {x, other}));
  }
  void scalar(Value x) {
    static constexpr std::array kValues = {0.0, 1.0, -1.0, 0.5, 2.0};
    const Value c = b_.scalar(DType::kF32, kValues[random_.below(kValues.size())]);
    static constexpr std::array kOps = {"add", "mul", "sub"};
    keep(apply(kOps[random_.below(kOps.size())], {x, c}));
  }
  void reshape(Value x) {
    ir::Shape s = shape(x);
    Integers target(s.begin(), s.end());
    if (random_.chance(0.5) && target.size() >= 2) {
      const auto at = static_cast<std::size_t>(random_.between(0, rank(x) - 2));
      target[at] *= target[at + 1];
      target.erase(target.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    } else if (target.size() < 5) {
      target.insert(target.begin() + static_cast<std::ptrdiff_t>(random_.below(target.size() + 1)),
                    1);
    }
    keep(apply("reshape", {x}, {{"shape", target}}));
  }
  void transpose(Value x) {
    Integers perm(static_cast<std::size_t>(rank(x)));
    std::iota(perm.begin(), perm.end(), 0);
    for (std::size_t i = perm.size(); i > 1; --i) std::swap(perm[i - 1], perm[random_.below(i)]);
    keep(apply("transpose", {x}, {{"perm", perm}}));
  }
  void slice(Value x) {
    if (rank(x) == 0) return;
    const std::int64_t a = axis(x);
    const std::int64_t size = shape(x)[static_cast<std::size_t>(a)];
    const std::int64_t start = random_.between(0, size - 1);
    const std::int64_t step = random_.between(1, 2);
    const std::int64_t count = random_.between(1, (size - start + step - 1) / step);
    keep(apply("slice", {x}, {{"axis", a}, {"start", start}, {"size", count}, {"step", step}}));
  }
  void concat(Value x) {
    if (rank(x) == 0) return;
    const std::int64_t a = axis(x);
    std::vector<Value> parts = {x};
    for (const Value& other : values_) {
      ir::Shape mine = shape(x);
      ir::Shape theirs = shape(other);
      if (mine.size() != theirs.size()) continue;
      mine[static_cast<std::size_t>(a)] = theirs[static_cast<std::size_t>(a)] = 0;
      if (mine == theirs && parts.size() < 3 && random_.chance(0.6)) parts.push_back(other);
    }
    keep(b_.add("concat", parts, {{"axis", a}}));
  }
  void pool(Value x) {
    if (rank(x) != 4) return;
    const std::int64_t stride = random_.between(1, 2);
    Attrs attrs{{"kernel", Integers{3, 3}},
                {"strides", Integers{stride, stride}},
                {"pads", Integers{1, 1, 1, 1}},
                {"dilations", Integers{1, 1}}};
    if (random_.chance(0.5)) {
      keep(apply("max_pool", {x}, attrs));
    } else {
      attrs.set("count_include_pad", random_.between(0, 1));
      keep(apply("avg_pool", {x}, attrs));
    }
  }
  void reduce(Value x) {
    if (rank(x) == 0) return;
    static constexpr std::array kOps = {"reduce_sum", "reduce_mean", "reduce_max"};
    keep(apply(kOps[random_.below(kOps.size())], {x},
               {{"axes", Integers{axis(x)}}, {"keepdims", random_.between(0, 1)}}));
  }
  void softmax(Value x) {
    if (rank(x) > 0) keep(apply("softmax", {x}, {{"axis", axis(x)}}));
  }
  void pad(Value x) {
    Integers before;
    Integers after;
    Integers interior;
    for (int i = 0; i < rank(x); ++i) {
      before.push_back(random_.chance(0.3) ? random_.between(-1, 1) : 0);
      after.push_back(random_.chance(0.3) ? random_.between(0, 1) : 0);
      interior.push_back(random_.chance(0.1) ? 1 : 0);
    }
    keep(apply("pad", {x}, {{"before", before}, {"after", after}, {"interior", interior}}));
  }

  base::Random& random_;
  ir::GraphBuilder b_;
  std::vector<Value> values_;
};

}  // namespace

ir::Graph random_graph(base::Random& random) { return RandomGraph(random).build(); }

}  // namespace egret::testing_support
