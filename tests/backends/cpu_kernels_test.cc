// SPDX-License-Identifier: Apache-2.0
// Every kernel against the interpreter, on random shapes and attributes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/random.h"
#include "ir/graph/builder.h"
#include "tests/backends/graph_compare.h"

namespace egret::backends {
namespace {

using base::Random;
using ir::Attrs;
using ir::DType;
using ir::GraphBuilder;
using ir::Integers;
using ir::Shape;
using ir::Tensor;
using ir::TensorType;
using ir::Value;

// A graph being made with random choices.
struct Maker {
  GraphBuilder b;
  Random random;
  int inputs = 0;

  explicit Maker(std::uint64_t seed) : random(seed) {}
  std::int64_t pick(std::initializer_list<std::int64_t> values) {
    return values.begin()[random.below(values.size())];
  }
  std::int64_t between(std::int64_t low, std::int64_t high) { return random.between(low, high); }
  Value input(const Shape& shape, DType type = DType::kF32) {
    return b.input("x" + std::to_string(inputs++), TensorType(type, shape));
  }
  Value constant(const Shape& shape) {
    return b.constant(Tensor::random(TensorType(DType::kF32, shape), random));
  }
  Value weights(const Shape& shape) { return random.chance(0.8) ? constant(shape) : input(shape); }
  Shape shape(int low_rank, int high_rank, std::int64_t largest) {
    Shape result(static_cast<std::size_t>(between(low_rank, high_rank)));
    for (auto& size : result) size = between(1, largest);
    return result;
  }
  // Broadcastable to `full`: fewer axes, some of size 1.
  Shape broadcastable(const Shape& full) {
    Shape result(full.begin() + between(0, static_cast<std::int64_t>(full.size())), full.end());
    for (auto& size : result) {
      if (random.chance(0.4)) size = 1;
    }
    return result;
  }
  // Checks the graph that computes `outputs`, and that no operator fell back to the interpreter.
  void check(std::initializer_list<Value> outputs, std::uint64_t seed,
             bool fallback_allowed = false) {
    int k = 0;
    for (const Value output : outputs) b.output("y" + std::to_string(k++), output);
    const auto graph = b.finish();
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    const PlanReport report = expect_matches_reference(*graph, seed);
    if (fallback_allowed) return;
    for (const auto& fallback : report.fallbacks)
      ADD_FAILURE() << fallback.node << " (" << fallback.op << "): " << fallback.reason;
  }
};

// EGRET_KERNEL_SEEDS=1000 makes a campaign of it.
std::uint64_t seeds() {
  const char* const given = std::getenv("EGRET_KERNEL_SEEDS");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 25;
}

class Kernels : public ::testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, Kernels, ::testing::Range<std::uint64_t>(0, seeds()));

Attrs conv_attrs(Maker& m, std::size_t spatial, std::int64_t group, bool plain) {
  Integers strides, dilations, pads;
  for (std::size_t i = 0; i < spatial; ++i) {
    strides.push_back(plain ? 1 : m.between(1, 2));
    dilations.push_back(plain ? 1 : m.pick({1, 1, 2}));
  }
  for (std::size_t i = 0; i < 2 * spatial; ++i) pads.push_back(plain ? 1 : m.between(0, 2));
  return {{"strides", strides}, {"dilations", dilations}, {"pads", pads}, {"group", group}};
}

Value activation(Maker& m, Value x) {
  switch (m.between(0, 9)) {
    case 0: return m.b.add("relu", {x});
    case 1: return m.b.add("clip", {x}, {{"min", 0.0}, {"max", 6.0}});
    case 2: return m.b.add("sigmoid", {x});
    case 3: return m.b.add("hard_swish", {x});
    case 4: return m.b.add("leaky_relu", {x}, {{"alpha", 0.1}});
    case 5: return m.b.add("gelu", {x});
    case 6: return m.b.add("silu", {x});
    case 7: return m.b.add("hard_sigmoid", {x});
    case 8: return m.b.add("tanh", {x});
    default: return x;
  }
}

TEST_P(Kernels, ConvolutionsWithEpilogues) {
  Maker m(GetParam() * 7 + 1);
  const auto spatial = static_cast<std::size_t>(m.pick({1, 2, 2, 2, 3}));
  const std::int64_t group = m.pick({1, 1, 1, 2, 4});
  const bool depthwise = m.random.chance(0.2);
  const std::int64_t width = m.pick({1, 3, 4, 8, 16, 24});
  const std::int64_t groups = depthwise ? m.pick({3, 8, 16, 33}) : group;
  const std::int64_t channels = depthwise ? groups : width * groups;
  const std::int64_t filters = groups * (depthwise ? 1 : m.pick({1, 5, 8, 16, 20}));
  Shape x{m.between(1, 2), channels};
  Shape w{filters, channels / groups};
  const std::int64_t kernel = m.pick({1, 3, 3, 2});
  for (std::size_t i = 0; i < spatial; ++i) {
    x.push_back(m.between(5, 9));
    w.push_back(kernel);
  }
  const Attrs attrs = conv_attrs(m, spatial, groups, kernel == 3 && m.random.chance(0.5));
  Value y = m.b.add("conv", {m.input(x), m.weights(w)}, attrs);
  if (m.random.chance(0.6)) {
    Shape bias{filters};
    bias.resize(spatial + 1, 1);
    y = m.b.add("add", {y, m.weights(bias)});
  }
  const Shape out = m.b.type(y).shape();
  if (m.random.chance(0.3)) y = m.b.add("mul", {y, m.weights(m.broadcastable(out))});
  if (m.random.chance(0.5)) y = m.b.add("add", {y, m.input(out)});
  y = activation(m, y);
  m.check({y}, GetParam());
}

TEST_P(Kernels, FusedConvolutionsWithResiduals) {
  Maker m(GetParam() * 7 + 2);
  const std::int64_t channels = m.pick({3, 16, 32, 20});
  const Shape shape{m.between(1, 2), channels, m.between(4, 12), m.between(4, 12)};
  const Value x = m.input(shape);
  Attrs attrs = conv_attrs(m, 2, 1, true);
  const char* const names[] = {"none", "relu",       "relu6",      "sigmoid",
                               "silu", "hard_swish", "leaky_relu", "gelu"};
  attrs.set("activation", std::string(names[m.random.below(8)]));
  const Value w = m.constant({channels, channels, 3, 3});
  const Value bias = m.constant({channels});
  // The residual is the input itself, another value, or the input that others still read.
  const Value residual = m.random.chance(0.5) ? x : m.b.add("tanh", {x});
  const Value y = m.b.add("fused_conv", {x, w, bias, residual}, attrs);
  if (m.random.chance(0.5)) {
    m.check({y, m.b.add("mul", {y, residual})}, GetParam());
  } else {
    m.check({y}, GetParam());
  }
}

// What constants do to channels goes into weights and bias; whatever comes after does not.
TEST_P(Kernels, ConvolutionsScaledAndShiftedByConstants) {
  Maker m(GetParam() * 7 + 6);
  const std::int64_t group = m.pick({1, 1, 2});
  const std::int64_t channels = group * m.pick({3, 16, 32});
  const std::int64_t filters = group * m.pick({5, 16, 32});
  const Value x = m.input({m.between(1, 2), channels, m.between(4, 12), m.between(4, 12)});
  std::vector<Value> inputs{x, m.weights({filters, channels / group, 3, 3})};
  Attrs attrs = conv_attrs(m, 2, group, true);
  const bool fused = m.random.chance(0.5);
  if (fused) inputs.push_back(m.weights({filters}));
  Value y = m.b.add(fused ? "fused_conv" : "conv", inputs, attrs);
  for (std::int64_t i = m.between(1, 3); i > 0; --i) {
    const char* const operators[] = {"add", "sub", "mul", "div"};
    const Value operand = m.random.chance(0.2)   ? m.b.scalar(DType::kF32, 1.5)
                          : m.random.chance(0.8) ? m.constant({filters, 1, 1})
                                                 : m.weights({1, filters, 1, 1});
    // Divided by a sigmoid: not near zero.
    const char* const op = operators[m.random.below(4)];
    y = m.b.add(op, {y, std::string(op) == "div" ? m.b.add("sigmoid", {operand}) : operand});
  }
  m.check({m.random.chance(0.5) ? m.b.add("relu", {y}) : y}, GetParam());
}

// Dilated windows whose image divides into phases, and those whose does not.
TEST_P(Kernels, DilatedConvolutions) {
  Maker m(GetParam() * 7 + 7);
  const std::int64_t d = m.pick({2, 2, 3});
  const std::int64_t ragged = m.random.chance(0.2) ? 1 : 0;
  const Shape shape{m.between(1, 2), m.pick({16, 32, 20}), d * m.between(2, 5) + ragged,
                    d * m.between(2, 5)};
  const std::int64_t filters = m.pick({16, 32, 20});
  Attrs attrs{{"strides", Integers{1, 1}},
              {"dilations", Integers{d, d}},
              {"pads", Integers{d, d, d, d}},
              {"group", std::int64_t{1}}};
  Value y = m.input(shape);
  if (m.random.chance(0.5)) y = m.b.add("relu", {y});
  y = m.b.add("conv", {y, m.weights({filters, shape[1], 3, 3})}, attrs);
  if (m.random.chance(0.5)) y = m.b.add("add", {y, m.constant({filters, 1, 1})});
  const Value z = activation(m, y);
  m.check({m.random.chance(0.3) ? m.b.add("add", {z, m.input(m.b.type(z).shape())}) : z},
          GetParam());
}

TEST_P(Kernels, TransposedConvolutions) {
  Maker m(GetParam() * 7 + 3);
  const std::int64_t group = m.pick({1, 1, 2});
  const std::int64_t channels = group * m.pick({1, 4, 16});
  const std::int64_t filters = m.pick({1, 3, 16});
  const Shape x{1, channels, m.between(2, 6), m.between(2, 6)};
  const Attrs attrs{{"strides", Integers{m.between(1, 2), 2}},
                    {"dilations", Integers{1, 1}},
                    {"pads", Integers{m.between(0, 1), 0, 1, m.between(0, 1)}},
                    {"output_padding", Integers{0, m.between(0, 1)}},
                    {"group", group}};
  const Value y =
      m.b.add("conv_transpose", {m.input(x), m.weights({channels, filters, 3, 3})}, attrs);
  m.check({y}, GetParam(), true);
}

TEST_P(Kernels, Matmuls) {
  Maker m(GetParam() * 7 + 4);
  const std::int64_t rows = m.pick({1, 3, 17, 32}), inner = m.pick({1, 5, 16, 33}),
                     columns = m.pick({1, 7, 16, 40});
  Shape batch = m.shape(0, 2, 3);
  Shape a = batch;
  Shape b = m.random.chance(0.4) ? Shape{} : m.broadcastable(batch);
  if (m.random.chance(0.3)) b = batch;
  const bool turned_a = m.random.chance(0.3), turned_b = m.random.chance(0.3);
  const auto push = [](Shape& shape, std::int64_t r, std::int64_t c, bool turned) {
    shape.push_back(turned ? c : r);
    shape.push_back(turned ? r : c);
  };
  push(a, rows, inner, turned_a);
  push(b, inner, columns, turned_b);
  const auto transposed = [&](Value x, bool turned) {
    if (!turned) return x;
    Integers perm;
    for (int i = 0; i < m.b.type(x).rank(); ++i) perm.push_back(i);
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    return m.b.add("transpose", {x}, {{"perm", perm}});
  };
  const Value left = transposed(m.input(a), turned_a);
  const Value right = transposed(m.weights(b), turned_b);
  Value y;
  if (m.random.chance(0.5)) {
    const Shape out = m.b.type(m.b.add("matmul", {left, right})).shape();
    std::vector<Value> inputs{left, right, m.weights(m.broadcastable(out))};
    if (m.random.chance(0.5)) inputs.push_back(m.input(out));
    y = m.b.add(ir::get_operator("fused_matmul"), inputs, {{"activation", std::string("relu")}});
  } else {
    y = m.b.add("matmul", {left, right});
    if (m.random.chance(0.5))
      y = m.b.add("add", {y, m.weights(m.broadcastable(m.b.type(y).shape()))});
  }
  m.check({activation(m, y)}, GetParam());
}

// Fully connected layers of a few rows, as products and as convolutions by a window as large as the
// image, with chains behind them.
TEST_P(Kernels, ProductsOfFewRows) {
  Maker m(GetParam() * 7 + 8);
  const std::int64_t rows = m.random.chance(0.4) ? 1 : m.between(2, 9);
  const std::int64_t columns = m.pick({1, 7, 8, 16, 40, 64, 100, 192, 600, 1100});
  const std::int64_t channels = m.pick({1, 5, 16, 33, 200}), side = m.pick({1, 1, 3});
  const bool conv = m.random.chance(0.5);
  const Integers ones{1, 1};
  const Attrs attrs{{"strides", ones}, {"dilations", ones}, {"pads", Integers{0, 0, 0, 0}}};
  // All rows, one for all, an element a row (which the product does not take), an element.
  const auto value = [&] {
    const std::int64_t r = m.random.chance(0.6) ? rows : 1;
    const std::int64_t c = m.random.chance(0.8) ? columns : 1;
    const Shape across = conv ? Shape{r, c, 1, 1} : Shape{r, c};
    const Shape operand = m.random.chance(0.2) ? Shape{} : across;
    return m.random.chance(0.5) ? m.input(operand) : m.weights(operand);
  };
  Value y;
  if (conv) {
    std::vector<Value> inputs{m.input({rows, channels, side, side}),
                              m.constant({columns, channels, side, side})};
    Attrs fused = attrs;
    fused.set("activation", std::string("relu"));
    const bool biased = m.random.chance(0.5);
    if (biased) inputs.push_back(m.weights({columns}));
    y = m.b.add(biased ? "fused_conv" : "conv", inputs, biased ? fused : attrs);
  } else if (m.random.chance(0.3)) {
    y = m.b.add("fused_matmul",
                {m.input({rows, channels}), m.constant({channels, columns}), m.weights({columns})},
                {{"activation", std::string("relu")}});
  } else {
    y = m.b.add("matmul", {m.input({rows, channels}), m.constant({channels, columns})});
  }
  if (m.random.chance(0.6)) y = m.b.add("add", {y, value()});
  if (m.random.chance(0.3)) y = m.b.add("mul", {value(), y});
  m.check({activation(m, y)}, GetParam());
}

TEST_P(Kernels, AttentionOverTransposedHeads) {
  Maker m(GetParam() * 7 + 5);
  const std::int64_t n = m.between(1, 2), s = m.between(1, 9), h = m.between(1, 3),
                     d = m.pick({4, 8, 16});
  const auto heads = [&] {
    const Value flat = m.input({n, s, h * d});
    const Value split = m.b.add("reshape", {flat}, {{"shape", Integers{n, s, h, d}}});
    return m.b.add("transpose", {split}, {{"perm", Integers{0, 2, 1, 3}}});
  };
  const Value o = m.b.add("attention", {heads(), heads(), heads()}, {{"scale", 0.5}});
  const Value back = m.b.add("transpose", {o}, {{"perm", Integers{0, 2, 1, 3}}});
  m.check({m.b.add("reshape", {back}, {{"shape", Integers{n, s, h * d}}})}, GetParam());
}

TEST_P(Kernels, PointwiseRegionsOverBroadcastsAndLayouts) {
  Maker m(GetParam() * 7 + 6);
  const Shape shape = m.shape(1, 5, 9);
  std::vector<Value> values{m.input(shape)};
  // A permuted view of another input, of the same shape in the end.
  Integers perm;
  for (std::size_t i = 0; i < shape.size(); ++i) perm.push_back(static_cast<std::int64_t>(i));
  std::swap(perm[m.random.below(perm.size())], perm[m.random.below(perm.size())]);
  Shape turned(shape.size());
  for (std::size_t i = 0; i < perm.size(); ++i)
    turned[static_cast<std::size_t>(perm[i])] = shape[i];
  values.push_back(m.b.add("transpose", {m.input(turned)}, {{"perm", perm}}));
  const char* const binary[] = {"add", "sub", "mul", "max", "min"};
  for (int i = 0; i < 8; ++i) {
    const Value a = values[m.random.below(values.size())];
    const Value other = m.random.chance(0.4) ? m.weights(m.broadcastable(shape))
                                             : values[m.random.below(values.size())];
    const bool wide = m.b.type(a).shape() == shape || m.b.type(other).shape() == shape;
    if (wide) values.push_back(m.b.add(binary[m.random.below(5)], {a, other}));
    values.push_back(activation(m, values.back()));
  }
  m.check({values.back(), values[values.size() / 2]}, GetParam());
}

TEST_P(Kernels, Functions) {
  Maker m(GetParam() * 7 + 8);
  const Value x = m.input(m.shape(1, 3, 20));
  const Value positive = m.b.add("add", {m.b.add("abs", {x}), m.b.scalar(DType::kF32, 0.01)});
  const char* const any[] = {"exp",  "erf", "tanh",     "sigmoid", "softplus", "mish",
                             "elu",  "sin", "cos",      "floor",   "ceil",     "round",
                             "sign", "neg", "softsign", "celu",    "selu"};
  const char* const above_zero[] = {"log", "sqrt", "rsqrt", "reciprocal"};
  const Value a = m.b.add(any[m.random.below(17)], {x});
  const Value c = m.b.add(above_zero[m.random.below(4)], {positive});
  const Value power = m.b.add("pow", {positive, m.b.scalar(DType::kF32, 1.7)});
  m.check({m.b.add("add", {a, c}), power, m.b.add("div", {a, positive})}, GetParam());
}

TEST_P(Kernels, BoolsAndSelections) {
  Maker m(GetParam() * 7 + 9);
  const Shape shape = m.shape(1, 4, 7);
  const Value x = m.input(shape), y = m.input(m.broadcastable(shape));
  const Value flag = m.input(m.broadcastable(shape), DType::kBool);
  const Value lower = m.b.add("less", {x, y});
  const Value both = m.b.add("and", {lower, m.b.add("not", {flag})});
  const Value number = m.b.add("cast", {m.input(shape, DType::kI64)}, {{"to", std::string("f32")}});
  m.check({both, m.b.add("where", {both, x, number}),
           m.b.add("cast", {lower}, {{"to", std::string("f32")}})},
          GetParam());
}

Attrs plain_window() {
  return {
      {"strides", Integers{1, 1}}, {"dilations", Integers{1, 1}}, {"pads", Integers{0, 0, 0, 0}}};
}

TEST_P(Kernels, Pools) {
  Maker m(GetParam() * 7 + 10);
  const auto spatial = static_cast<std::size_t>(m.pick({1, 2, 2, 3}));
  const bool wide = spatial == 2 && m.random.chance(0.5);  // lines of several vectors
  const std::int64_t channels = wide ? m.pick({1, 3, 16}) : m.pick({1, 3, 16, 20, 32});
  Shape x{m.between(1, 2), channels};
  Integers kernel, strides, dilations, pads(2 * spatial);
  for (std::size_t i = 0; i < spatial; ++i) {
    x.push_back(wide ? m.between(11, 40) : m.between(5, 12));
    kernel.push_back(m.between(1, wide ? 6 : 3));
    strides.push_back(m.between(1, wide ? 4 : 3));
    dilations.push_back(m.pick({1, 1, 1, 2}));
    pads[i] = m.between(0, kernel[i] - 1);
    pads[i + spatial] = m.between(0, kernel[i] - 1);
  }
  Value v = m.input(x);
  if (m.random.chance(0.6)) {  // behind a convolution, so that the layout is its
    Shape w{channels, channels};
    w.resize(spatial + 2, 1);
    v = m.b.add("conv", {v, m.constant(w)},
                {{"strides", Integers(spatial, 1)},
                 {"dilations", Integers(spatial, 1)},
                 {"pads", Integers(2 * spatial, 0)}});
  }
  Attrs attrs{{"kernel", kernel}, {"strides", strides}, {"dilations", dilations}, {"pads", pads}};
  const Value most = m.b.add("max_pool", {v}, attrs);
  attrs.set("count_include_pad", m.between(0, 1));
  m.check({most, m.b.add("avg_pool", {v}, attrs)}, GetParam());
}

// The mean over a window with an infinity is infinite, wherever in the window it stands.
TEST_P(Kernels, PoolsOfInfinities) {
  Maker m(GetParam() * 7 + 11);
  const Attrs one = plain_window();
  const Value made = m.b.add("conv", {m.input({1, 16, 6, 6}), m.constant({32, 16, 1, 1})}, one);
  const Value v = m.b.add("log", {m.b.add("relu", {m.b.add("sign", {made})})});
  Attrs attrs = one;
  attrs.set("kernel", Integers{2, 2});
  m.check({m.b.add("avg_pool", {v}, attrs)}, GetParam());
}

TEST_P(Kernels, ChannelShuffles) {
  Maker m(GetParam() * 7 + 17);
  const std::int64_t n = m.between(1, 2), groups = m.pick({1, 2, 3}), width = m.pick({1, 4, 8}),
                     h = m.between(1, 4), w = m.between(1, 4);
  const std::int64_t channels = groups * width;
  const Attrs one = plain_window();
  Value x = m.input({n, channels, h, w});
  if (m.random.chance(0.7)) x = m.b.add("conv", {x, m.constant({channels, channels, 1, 1})}, one);
  const Value split = m.b.add("reshape", {x}, {{"shape", Integers{n, groups, width, h, w}}});
  const Value turned = m.b.add("transpose", {split}, {{"perm", Integers{0, 2, 1, 3, 4}}});
  const Value y = m.b.add("reshape", {turned}, {{"shape", Integers{n, channels, h, w}}});
  const Value z = m.b.add("conv", {y, m.constant({16, channels, 1, 1})}, one);
  m.check({z, m.b.add("reshape", {y}, {{"shape", Integers{n * channels, h * w}}})}, GetParam());
}

TEST_P(Kernels, LocalResponseNormalizations) {
  Maker m(GetParam() * 7 + 16);
  const Shape shape{m.between(1, 2), m.pick({3, 16, 32, 20}), m.between(1, 7), m.between(1, 7)};
  const Attrs one = plain_window();
  Value x = m.b.add("relu", {m.input(shape)});
  if (m.random.chance(0.5)) x = m.b.add("conv", {x, m.constant({shape[1], shape[1], 1, 1})}, one);
  const Attrs attrs{{"size", m.between(1, 5)},
                    {"alpha", 0.3},
                    {"beta", m.random.chance(0.5) ? 0.75 : 0.4},
                    {"bias", 1.5}};
  m.check({m.b.add("lrn", {x}, attrs)}, GetParam(), true);
}

TEST_P(Kernels, Reductions) {
  Maker m(GetParam() * 7 + 11);
  const bool behind_conv = m.random.chance(0.4);
  const Shape shape = behind_conv ? Shape{2, m.pick({16, 20, 32}), m.between(1, 9), m.between(1, 9)}
                                  : m.shape(1, 5, m.pick({4, 70}) / 4 + 5);
  Value v = m.input(shape);
  if (behind_conv) {
    v = m.b.add("conv", {v, m.constant({shape[1], shape[1], 1, 1})}, plain_window());
  } else if (shape.size() > 1 && m.random.chance(0.5)) {
    Integers perm;
    for (std::size_t i = shape.size(); i-- > 0;) perm.push_back(static_cast<std::int64_t>(i));
    v = m.b.add("transpose", {v}, {{"perm", perm}});
  }
  Integers axes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (m.random.chance(0.5)) axes.push_back(static_cast<std::int64_t>(i));
  }
  const Attrs attrs{{"axes", axes}, {"keepdims", m.between(0, 1)}};
  m.check({m.b.add("reduce_sum", {v}, attrs), m.b.add("reduce_mean", {v}, attrs),
           m.b.add("reduce_max", {v}, attrs), m.b.add("reduce_min", {v}, attrs)},
          GetParam());
}

TEST_P(Kernels, SoftmaxAndNorms) {
  Maker m(GetParam() * 7 + 12);
  const Shape shape = m.random.chance(0.5) ? m.shape(1, 4, 5) : m.shape(1, 2, 150);
  const Value x = m.input(shape);
  const std::int64_t axis = m.between(0, static_cast<std::int64_t>(shape.size()) - 1);
  const Shape row(shape.begin() + axis, shape.end());
  const Value scaled = m.b.add("mul", {x, m.b.scalar(DType::kF32, 20)});
  m.check({m.b.add("softmax", {scaled}, {{"axis", axis}}),
           m.b.add("log_softmax", {x}, {{"axis", axis}}),
           m.b.add("layer_norm", {x, m.weights(row), m.weights(row)}, {{"axis", axis}}),
           m.b.add("rms_norm", {x, m.weights(row)}, {{"axis", axis}})},
          GetParam());
}

TEST_P(Kernels, ConcatenationsOfParts) {
  Maker m(GetParam() * 7 + 13);
  const bool image = m.random.chance(0.6);
  Shape shape = image ? Shape{m.pick({1, 1, 2}), 16, 5, 6} : m.shape(1, 4, 6);
  const auto axis =
      image ? std::int64_t{1} : m.between(0, static_cast<std::int64_t>(shape.size()) - 1);
  std::vector<Value> parts;
  const Value x = m.input(shape);
  for (std::int64_t i = m.between(1, 4); i-- > 0;) {
    Shape part = shape;
    part[static_cast<std::size_t>(axis)] = image ? m.pick({16, 16, 32, 20}) : m.between(1, 4);
    if (image && m.random.chance(0.7)) {
      parts.push_back(m.b.add("conv", {x, m.constant({part[1], 16, 1, 1})}, plain_window()));
    } else {
      parts.push_back(m.random.chance(0.7) ? m.b.add("relu", {m.input(part)}) : m.weights(part));
    }
  }
  if (m.random.chance(0.4)) parts.push_back(parts[0]);
  const Value whole = m.b.add("concat", parts, {{"axis", axis}});
  std::vector<Value> nested{whole, parts[0]};
  const Value again = m.b.add("concat", nested, {{"axis", axis}});
  m.check({m.b.add("tanh", {again}), m.b.add("neg", {parts[0]}), whole}, GetParam());
}

TEST_P(Kernels, MovesOfData) {
  Maker m(GetParam() * 7 + 14);
  const Shape shape = m.shape(2, 4, 6);
  const auto rank = static_cast<std::int64_t>(shape.size());
  Value v = m.input(shape, m.random.chance(0.3) ? DType::kI64 : DType::kF32);
  for (int i = 0; i < 4; ++i) {
    const Shape now = m.b.type(v).shape();
    const std::int64_t axis = m.between(0, rank - 1);
    const std::int64_t length = now[static_cast<std::size_t>(axis)];
    switch (m.between(0, 5)) {
      case 5: {  // merges two axes and splits them otherwise
        Integers to(now.begin(), now.end());
        if (rank > 1) std::swap(to[0], to[1]);
        v = m.b.add("reshape", {v}, {{"shape", to}});
        break;
      }
      case 0: {
        Integers perm;
        for (std::int64_t k = 0; k < rank; ++k) perm.push_back(k);
        std::swap(perm[m.random.below(perm.size())], perm[m.random.below(perm.size())]);
        v = m.b.add("transpose", {v}, {{"perm", perm}});
        break;
      }
      case 1: {
        const std::int64_t start = m.between(0, length - 1);
        v = m.b.add("slice", {v},
                    {{"axis", axis}, {"start", start}, {"size", m.between(1, length - start)}});
        break;
      }
      case 2:
        v = m.b.add(
            "slice", {v},
            {{"axis", axis}, {"start", length - 1}, {"size", length}, {"step", std::int64_t{-1}}});
        break;
      case 3: {
        Integers before, after;
        for (std::int64_t k = 0; k < rank; ++k) {
          before.push_back(m.between(0, 2));
          after.push_back(m.between(0, 2));
        }
        v = m.b.add(
            "pad", {v},
            {{"before", before}, {"after", after}, {"value", m.random.chance(0.5) ? 0.0 : 3.0}});
        break;
      }
      default: {
        const Value indices = m.input(m.shape(1, 1, 5), DType::kI64);
        v = m.b.add("gather", {v, indices}, {{"axis", axis}});
      }
    }
  }
  Shape wide = m.b.type(v).shape();
  wide.insert(wide.begin(), 3);
  m.check({v, m.b.add("broadcast", {v}, {{"shape", Integers(wide.begin(), wide.end())}})},
          GetParam());
}

TEST_P(Kernels, Patches) {
  Maker m(GetParam() * 7 + 16);
  const Shape shape = {m.between(1, 3), 16, m.between(2, 5), m.between(1, 6)};
  Shape box;
  Integers start;
  for (const std::int64_t size : shape) {
    box.push_back(m.between(1, size));
    start.push_back(m.between(0, size - box.back()));
  }
  const Attrs one = plain_window();
  // Of a tensor that may be kept in blocks of channels.
  const Value x = m.b.add("conv", {m.input(shape), m.constant({16, 16, 1, 1})}, one);
  const Value patched = m.b.add("patch", {x, m.input(box)}, {{"start", start}});
  m.check({m.b.add("relu", {patched})}, GetParam());
}

TEST_P(Kernels, PaddingAndSlicingOfFeatureMaps) {
  Maker m(GetParam() * 7 + 15);
  const std::int64_t channels = m.pick({16, 20, 32});
  const Attrs one = plain_window();
  const Value x = m.input({m.between(1, 2), 16, 6, 6});
  const Value v = m.b.add("conv", {x, m.constant({channels, 16, 1, 1})}, one);
  const Value padded = m.b.add("pad", {v},
                               {{"before", Integers{0, m.pick({0, 3}), 1, 0}},
                                {"after", Integers{0, 0, 2, 1}},
                                {"value", m.random.chance(0.5) ? 0.0 : 1.5}});
  const std::int64_t start = m.pick({0, 4, 8});
  const Value part =
      m.b.add("slice", {v},
              {{"axis", std::int64_t{1}}, {"start", start}, {"size", m.pick({8, 16 - start})}});
  const Value rows = m.b.add("slice", {v},
                             {{"axis", std::int64_t{2}},
                              {"start", std::int64_t{1}},
                              {"size", std::int64_t{3}},
                              {"step", std::int64_t{2}}});
  // The convolution behind it reads all channels of the last block.
  const std::int64_t more = m.pick({0, 3});
  const Value edged = m.b.add("pad", {v},
                              {{"before", Integers{0, more, 1, 0}},
                               {"after", Integers{0, 0, 2, m.pick({0, 1, 20})}},
                               {"mode", std::string("edge")}});
  const Value behind = m.b.add("conv", {edged, m.constant({8, channels + more, 1, 1})}, one);
  m.check({m.b.add("relu", {padded}), m.b.add("exp", {part}), part, m.b.add("abs", {rows}), edged,
           behind},
          GetParam());
}

}  // namespace
}  // namespace egret::backends
