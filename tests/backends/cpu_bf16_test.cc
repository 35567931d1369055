// SPDX-License-Identifier: Apache-2.0
// Products and convolutions in bf16: within the error of rounded inputs, by kernels that say so,
// and only where they were asked for.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "backends/backend.h"
#include "backends/timing/measure.h"
#include "base/random.h"
#include "ir/evaluate/interpreter.h"
#include "ir/graph/builder.h"
#include "tests/backends/graph_compare.h"

namespace egret::backends {
namespace {

using ir::DType;
using ir::GraphBuilder;
using ir::Integers;
using ir::Shape;
using ir::Tensor;
using ir::TensorType;
using ir::Value;

const Backend& cpu() { return *find_backend("cpu"); }

// A graph being made, and how many products each output element sums.
struct Maker {
  GraphBuilder b;
  base::Random random;
  int inputs = 0;

  explicit Maker(std::uint64_t seed) : random(seed) {}
  std::int64_t pick(std::initializer_list<std::int64_t> values) {
    return values.begin()[random.below(values.size())];
  }
  Value input(const Shape& shape) {
    return b.input("x" + std::to_string(inputs++), TensorType(DType::kF32, shape));
  }
  Value constant(const Shape& shape) {
    return b.constant(Tensor::random(TensorType(DType::kF32, shape), random));
  }
  Value conv(Value x, const Shape& weights, std::int64_t group = 1, std::int64_t stride = 1,
             bool padded = true) {
    const std::size_t spatial = weights.size() - 2;
    Integers pads;
    for (std::size_t k = 0; k < 2 * spatial; ++k)
      pads.push_back(padded ? weights[2 + k % spatial] / 2 : 0);
    return b.add("conv", {x, constant(weights)},
                 {{"strides", Integers(spatial, stride)},
                  {"dilations", Integers(spatial, 1)},
                  {"pads", pads},
                  {"group", group}});
  }
  ir::Graph finish(std::initializer_list<Value> outputs) {
    int k = 0;
    for (const Value output : outputs) b.output("y" + std::to_string(k++), output);
    auto graph = b.finish();
    EXPECT_TRUE(graph.ok()) << graph.status().message();
    return *std::move(graph);
  }
};

std::vector<Tensor> run(const ir::Graph& graph, const CompileOptions& options,
                        std::span<const Tensor> inputs, PlanReport* report = nullptr) {
  const auto plan = cpu().compile(graph, options);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  if (!plan.ok()) return {};
  if (report != nullptr) *report = (*plan)->report();
  auto outputs = (*plan)->run(inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status().message();
  // Again: an arena that is not zero.
  const auto again = (*plan)->run(inputs);
  for (std::size_t k = 0; outputs.ok() && again.ok() && k < outputs->size(); ++k)
    EXPECT_TRUE(std::ranges::equal((*outputs)[k].data(), (*again)[k].data())) << k;
  return outputs.ok() ? *std::move(outputs) : std::vector<Tensor>{};
}

// How far every value, disturbed by bf16's half unit, moves the outputs; and some multiples of it.
double allowed(const ir::Graph& graph, std::span<const Tensor> inputs,
               const std::vector<Tensor>& exact, std::size_t output) {
  constexpr double kSafety = 16;
  double moved = 0;
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    const auto disturbed =
        ir::interpret(graph, inputs, {.perturbation = roundoff(Precision::kBF16), .seed = seed});
    EXPECT_TRUE(disturbed.ok());
    moved = std::max(moved, largest_difference((*disturbed)[output], exact[output]));
  }
  return kSafety * moved + 1e-5;
}

std::string implementations(const PlanReport& report) {
  std::string text;
  for (const PlanReport::Kernel& kernel : report.kernels)
    text += kernel.name + " by " + kernel.implementation + "\n";
  return text;
}

bool any_bf16(const PlanReport& report) {
  return std::ranges::any_of(report.kernels, [](const PlanReport::Kernel& kernel) {
    return kernel.name != "reorder" && kernel.implementation.find("bf16") != std::string::npos;
  });
}

// The graph in bf16, in all forms of plans: within the bound, and computed by such kernels.
void expect_bf16(const ir::Graph& graph, std::uint64_t seed) {
  base::Random random(seed);
  const std::vector<Tensor> inputs = ir::random_inputs(graph, random);
  const auto exact = ir::interpret(graph, inputs);
  ASSERT_TRUE(exact.ok()) << exact.status().message();
  const std::vector<Tensor> in_f32 = run(graph, {.threads = 1}, inputs);
  const CompileOptions variants[] = {
      {.threads = 1, .precision = Precision::kBF16},
      {.threads = 2, .precision = Precision::kBF16},
      {.threads = 1, .precision = Precision::kBF16, .fuse = false},
      {.threads = 1, .precision = Precision::kBF16, .blocked = false},
      {.threads = 1, .limit_arena = 1, .precision = Precision::kBF16}};
  double difference = 0;
  for (const CompileOptions& options : variants) {
    PlanReport report;
    const std::vector<Tensor> outputs = run(graph, options, inputs, &report);
    ASSERT_EQ(outputs.size(), exact->size());
    EXPECT_TRUE(report.fallbacks.empty());
    EXPECT_TRUE(!options.blocked || any_bf16(report)) << implementations(report);
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      EXPECT_LE(largest_difference(outputs[k], (*exact)[k]), allowed(graph, inputs, *exact, k))
          << implementations(report);
      difference = std::max(difference, largest_difference(outputs[k], in_f32[k]));
    }
  }
  EXPECT_GT(difference, 0) << "nothing was rounded";
}

class Bf16Kernels : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  void SetUp() override {
    const base::Status there = cpu().takes_precision(Precision::kBF16);
    if (!there.ok()) GTEST_SKIP() << there.message();
  }
};
INSTANTIATE_TEST_SUITE_P(Seeds, Bf16Kernels, ::testing::Range<std::uint64_t>(0, 12));

TEST_P(Bf16Kernels, ConvolutionsWithEpilogues) {
  Maker m(GetParam() * 5 + 1);
  const std::int64_t group = m.pick({1, 1, 2}), width = m.pick({3, 16, 20, 32});
  const std::int64_t filters = group * m.pick({5, 16, 20, 48}), kernel = m.pick({1, 3, 2});
  const std::int64_t stride = m.pick({1, 1, 2}), side = m.pick({5, 8, 11});
  const auto spatial = static_cast<std::size_t>(m.pick({1, 2, 2, 2, 3}));
  Shape x{m.pick({1, 2}), group * width}, w{filters, width};
  x.resize(2 + spatial, side);
  w.resize(2 + spatial, kernel);
  Value y = m.conv(m.input(x), w, group, stride);
  Shape bias{filters};
  bias.resize(1 + spatial, 1);
  if (m.random.chance(0.5)) y = m.b.add("add", {y, m.constant(bias)});
  if (m.random.chance(0.4)) y = m.b.add("add", {y, m.input(m.b.type(y).shape())});
  if (m.random.chance(0.5)) y = m.b.add("relu", {y});
  expect_bf16(m.finish({y}), GetParam());
}

// The first writes bf16 for the second where nobody else reads it; else it is rounded in between.
TEST_P(Bf16Kernels, ChainsOfConvolutionsAndResiduals) {
  Maker m(GetParam() * 5 + 2);
  const std::int64_t channels = m.pick({16, 20, 64}), inner = m.pick({16, 24, 64});
  const std::int64_t side = m.pick({6, 9});
  const Value x = m.b.add("relu", {m.input({1, channels, side, side})});
  const Value a = m.b.add("relu", {m.conv(x, {inner, channels, 1, 1})});
  const Value b = m.b.add("relu", {m.conv(a, {inner, inner, 3, 3})});
  Value y = m.b.add("add", {m.conv(b, {channels, inner, 1, 1}), x});
  if (m.random.chance(0.5)) y = m.b.add("relu", {y});
  const Value z = m.conv(y, {inner, channels, 1, 1}, 1, m.pick({1, 2}));
  if (m.random.chance(0.5)) {
    expect_bf16(m.finish({z, b}), GetParam());  // what was bf16 alone is an output, too
  } else {
    expect_bf16(m.finish({z, m.b.add("max_pool", {y},
                                     {{"kernel", Integers{2, 2}},
                                      {"strides", Integers{2, 2}},
                                      {"dilations", Integers{1, 1}},
                                      {"pads", Integers{0, 0, 0, 0}}})}),
                GetParam());
  }
}

TEST_P(Bf16Kernels, Products) {
  Maker m(GetParam() * 5 + 3);
  const std::int64_t rows = m.pick({9, 16, 33, 64}), inner = m.pick({16, 33, 64, 128});
  const std::int64_t columns = m.pick({16, 40, 64});
  const Shape batch = m.random.chance(0.4) ? Shape{2} : Shape{};
  const auto matrix = [&](std::int64_t r, std::int64_t c) {
    Shape shape = batch;
    shape.insert(shape.end(), {r, c});
    return shape;
  };
  Value a = m.input(matrix(rows, inner));
  if (m.random.chance(0.3)) {
    Integers perm;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(batch.size()) + 2; ++i)
      perm.push_back(i);
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    a = m.b.add("transpose", {m.input(matrix(inner, rows))}, {{"perm", perm}});
  }
  Value y = m.b.add("matmul", {a, m.constant({inner, columns})});
  if (m.random.chance(0.5)) y = m.b.add("add", {y, m.constant({columns})});
  if (m.random.chance(0.5)) y = m.b.add("gelu", {y});
  if (m.random.chance(0.5)) y = m.b.add("matmul", {y, m.constant({columns, 24})});
  if (m.random.chance(0.4)) y = m.b.add("add", {y, m.input(m.b.type(y).shape())});
  expect_bf16(m.finish({y}), GetParam());
}

TEST_P(Bf16Kernels, ProductsOfComputedMatrices) {
  Maker m(GetParam() * 5 + 4);
  const std::int64_t rows = m.pick({64, 70}), inner = m.pick({64, 96}), columns = m.pick({64, 80});
  const Value b = m.random.chance(0.5) ? m.input({2, inner, columns}) : m.input({inner, columns});
  const Value y = m.b.add("matmul", {m.input({2, rows, inner}), m.b.add("tanh", {b})});
  expect_bf16(m.finish({y}), GetParam());
}

TEST_P(Bf16Kernels, ProductsOfFewRows) {
  Maker m(GetParam() * 5 + 5);
  const auto rows = static_cast<std::int64_t>(m.random.below(8)) + 1;
  const std::int64_t columns = m.pick({1, 7, 16, 40, 64, 100, 600, 1100});
  const std::int64_t inner = m.pick({1, 5, 33, 129, 200, 301});
  Value y;
  if (m.random.chance(0.4)) {
    y = m.conv(m.input({rows, inner, 3, 3}), {columns, inner, 3, 3}, 1, 1, false);
  } else {
    y = m.b.add("matmul", {m.input({rows, inner}), m.constant({inner, columns})});
  }
  if (m.random.chance(0.5)) y = m.b.add("relu", {y});
  expect_bf16(m.finish({y}), GetParam());
}

class Bf16Plan : public Bf16Kernels {};
INSTANTIATE_TEST_SUITE_P(Once, Bf16Plan, ::testing::Values(0));

TEST_P(Bf16Plan, RoundsOneInputLikeTheLibraryDoes) {
  // 1 + 2^-9 is between two numbers of bf16, 1 the even one.
  GraphBuilder b;
  const Value x = b.input("x", {DType::kF32, {16, 16}});
  Tensor identity(TensorType(DType::kF32, {16, 16}));
  for (std::int64_t i = 0; i < 16; ++i) identity.set_f64(i * 17, 1);
  b.output("y", b.add("matmul", {x, b.constant(identity)}));
  const auto graph = b.finish();
  ASSERT_TRUE(graph.ok());
  Tensor given(TensorType(DType::kF32, {16, 16}));
  for (std::int64_t i = 0; i < 256; ++i) given.set_f64(i, 1 + 0x1p-9);
  given.set_f64(0, 1 + 0x1.8p-8);  // nearer to the next one
  const std::vector<Tensor> outputs =
      run(*graph, {.threads = 1, .precision = Precision::kBF16}, std::span(&given, 1));
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_EQ(outputs[0].f64_at(0), 1 + 0x1p-7);
  EXPECT_EQ(outputs[0].f64_at(2), 1);
  EXPECT_EQ(outputs[0].f64_at(std::int64_t{16} * 3), 1);
}

TEST_P(Bf16Plan, TakesHalfTheMemoryForWeights) {
  for (const std::int64_t rows : {1, 64}) {
    Maker m(7);
    const ir::Graph graph =
        m.finish({m.b.add("matmul", {m.input({rows, 512}), m.constant({512, 512})})});
    const auto bytes = [&](Precision precision) {
      const auto plan = cpu().compile(graph, {.threads = 1, .precision = precision});
      EXPECT_TRUE(plan.ok());
      return (*plan)->report().weights_bytes;
    };
    EXPECT_EQ(2 * bytes(Precision::kBF16), bytes(Precision::kF32)) << rows << " rows";
  }
}

TEST_P(Bf16Plan, KeepsActivationsInBf16BetweenConvolutions) {
  Maker m(8);
  const Value x = m.input({1, 64, 8, 8});
  const Value a = m.b.add("relu", {m.conv(x, {64, 64, 1, 1})});
  const ir::Graph graph = m.finish({m.conv(a, {64, 64, 1, 1})});
  const auto plan = cpu().compile(graph, {.threads = 1, .precision = Precision::kBF16});
  ASSERT_TRUE(plan.ok());
  // Reorders: the input into blocks of bf16, the output out of blocks.
  EXPECT_LE((*plan)->report().kernels.size(), 5U) << implementations((*plan)->report());
  EXPECT_TRUE(std::ranges::none_of((*plan)->report().kernels, [](const auto& kernel) {
    return kernel.implementation == "own:widen";
  })) << implementations((*plan)->report());
}

TEST_P(Bf16Plan, ComputesConstantsInF32) {
  Maker m(9);
  const Value w = m.b.add("matmul", {m.constant({64, 64}), m.constant({64, 64})});
  const ir::Graph graph = m.finish({m.b.add("add", {m.input({64, 64}), w})});
  base::Random random(1);
  const std::vector<Tensor> inputs = ir::random_inputs(graph, random);
  const auto lowered = run(graph, {.threads = 1, .precision = Precision::kBF16}, inputs);
  const auto plain = run(graph, {.threads = 1}, inputs);
  EXPECT_TRUE(std::ranges::equal(lowered[0].data(), plain[0].data()));
}

TEST(CpuPrecision, OthersAreUsageErrors) {
  for (const Precision precision : {Precision::kTF32, Precision::kF16})
    EXPECT_EQ(cpu().takes_precision(precision).code(), base::StatusCode::kUsage);
  EXPECT_TRUE(cpu().takes_precision(Precision::kF32).ok());
  EXPECT_EQ(find_backend("reference")->takes_precision(Precision::kBF16).code(),
            base::StatusCode::kUsage);
}

// Kernels of plans in f32 never say bf16; what they compute is compared with the interpreter by
// cpu_kernels_test.cc.
TEST(CpuPrecision, PlansInF32KnowNothingOfIt) {
  Maker m(10);
  const Value x = m.input({1, 64, 8, 8});
  const Value a = m.b.add("relu", {m.conv(x, {64, 64, 1, 1})});
  const Value b = m.conv(a, {32, 64, 8, 8}, 1, 1, false);
  const ir::Graph graph = m.finish({b});
  const auto plan = cpu().compile(graph, {.threads = 1});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(implementations((*plan)->report()).find("bf16"), std::string::npos);
  EXPECT_EQ(implementations((*plan)->report()).find("own:round"), std::string::npos);
}

}  // namespace
}  // namespace egret::backends
