// SPDX-License-Identifier: Apache-2.0
// Values in bf16 and with channels last on the CUDA backend, over libraries that stand in for a
// GPU's (fake_cuda.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "backends/cuda/steps/storage.h"
#include "backends/cuda/steps/stored_constant.h"
#include "ir/evaluate/interpreter.h"
#include "ir/graph/builder.h"
#include "tests/backends/attention_block.h"
#include "tests/backends/fake_cuda_test.h"
#include "tests/backends/graph_compare.h"
#include "tests/backends/small_network.h"

namespace egret::backends {
namespace {

using ir::DType;
using ir::GraphBuilder;
using ir::Integers;
using ir::Tensor;
using ir::TensorType;
using ir::Value;

TensorType f32(std::initializer_list<std::int64_t> sizes) { return {DType::kF32, sizes}; }

class CudaStorage : public FakeCudaTest {
 protected:
  static auto count(const PlanReport& report, const char* kind, const char* layout) {
    return std::ranges::count_if(report.kernels, [&](const PlanReport::Kernel& kernel) {
      return kernel.name == kind && std::string_view(kernel.layout) == layout;
    });
  }
  // Kernels that compute no operator of the graph.
  static auto conversions(const PlanReport& report) {
    return std::ranges::count_if(report.kernels,
                                 [](const auto& kernel) { return kernel.ids.empty(); });
  }
};

Tensor weights(std::initializer_list<std::int64_t> sizes, std::uint64_t seed) {
  base::Random random(seed);
  return Tensor::random(f32(sizes), random);
}

TEST_F(CudaStorage, KeepsValuesInBf16WithChannelsLast) {
  const PlanReport report = within_errors(small_network(), {.precision = Precision::kBF16});
  EXPECT_EQ(count(report, "convolution", "channels-last"), 2);
  EXPECT_EQ(count(report, "product", "channels-last"), 1);  // the convolution by one pixel
  EXPECT_EQ(count(report, "product", "row-major"), 1);      // in f32, which is the graph's output
  EXPECT_EQ(conversions(report), 1);                        // of the image
  const PlanReport plain = within_errors(small_network(), {});
  EXPECT_EQ(conversions(plain), 0);
  EXPECT_EQ(count(plain, "convolution", "row-major"), 3);
  // Half, but for what is added to the output.
  EXPECT_LT(report.weights_bytes, plain.weights_bytes / 2 + std::int64_t{700} * 4);
}

TEST_F(CudaStorage, KeepsF32WithChannelsLastForTensorCores) {
  const PlanReport report = within_errors(small_network(), {.precision = Precision::kTF32});
  EXPECT_EQ(count(report, "convolution", "channels-last"), 2);
  EXPECT_EQ(conversions(report), 1);
  const PlanReport rows =
      within_errors(small_network(), {.precision = Precision::kTF32, .blocked = false});
  EXPECT_EQ(count(rows, "convolution", "row-major"), 3);
  EXPECT_EQ(conversions(rows), 0);
}

TEST_F(CudaStorage, TakesTheFasterOfTheWaysToLie) {
  // Each plan is measured; the second one, of rows, seems to take half as long.
  fake_cuda().fragments_run = false;  // or emitted contractions, which are measured last, would win
  fake_cuda().faster_each_time = true;
  const ir::Graph network = small_network();
  EXPECT_EQ(
      count(within_errors(network, {.precision = Precision::kTF32}), "convolution", "row-major"),
      3);
  fake_cuda().faster_each_time = true;
  const CompileOptions unmeasured{.precision = Precision::kTF32, .search = false};
  EXPECT_EQ(count(within_errors(network, unmeasured), "convolution", "channels-last"), 2);
}

TEST_F(CudaStorage, ConvertsAroundWhatALibraryDoesNotTakeStored) {
  fake_cuda().narrow_types = false;
  const PlanReport report = within_errors(small_network(), {.precision = Precision::kBF16});
  EXPECT_EQ(count(report, "convolution", "row-major"), 3);
  EXPECT_EQ(count(report, "product", "row-major"), 1);
  fake_cuda().narrow_types = true;
  fake_cuda().lt_has_algorithms = false;
  fake_cuda().dnn_has_algorithms = false;
  fake_cuda().fragments_load = true;  // no library has the products: emitted kernels alone do
  const PlanReport emitted = within_errors(attention_block(1, 8), {.precision = Precision::kBF16});
  EXPECT_EQ(count(emitted, "product", "row-major"), 0);
  EXPECT_EQ(conversions(emitted), 0);
}

TEST_F(CudaStorage, KeepsAttentionInBf16) {
  const PlanReport report = within_errors(attention_block(2, 16), {.precision = Precision::kBF16});
  EXPECT_EQ(count(report, "product", "row-major"), 4);
  EXPECT_EQ(count(report, "attention", "row-major"), 1);
  EXPECT_LE(conversions(report), 1);
  EXPECT_EQ(fake_cuda().compute_types.count(cuda::kComputeF32), 1u);
}

// Queries, keys and values as parts of one product: each is read where it lies.
TEST_F(CudaStorage, ReadsPartsOfOneValueIntoAttention) {
  const PlanReport report = within_errors(merged_attention(16), {.precision = Precision::kBF16});
  EXPECT_EQ(count(report, "attention", "row-major"), 1);
  EXPECT_EQ(report.kernels.size(), 4u);  // and the product, the input to bf16, the result from it
}

TEST_F(CudaStorage, TakesAttentionWithAMaskInParts) {
  const CompileOptions bf16{.precision = Precision::kBF16};
  EXPECT_EQ(count(within_errors(masked_attention(16, false), bf16), "attention", "row-major"), 1);
  fake_cuda().dnn_has_attention = false;
  EXPECT_EQ(count(within_errors(attention_block(1, 16), bf16), "attention", "row-major"), 1);
}

// An H200 was seen to compute such attention wrongly: what a trial shows to be so is left to
// products.
TEST_F(CudaStorage, TakesOnlyAttentionThatIsRight) {
  fake_cuda().dnn_moves_masks = true;
  const PlanReport report =
      within_errors(masked_attention(16, false), {.precision = Precision::kBF16});
  EXPECT_EQ(count(report, "attention", "row-major"), 0);
  EXPECT_EQ(count(report, "product", "row-major"), 2);
}

// Each head of keys serves two of queries: they are repeated before.
TEST_F(CudaStorage, TakesAttentionOfRepeatedHeads) {
  GraphBuilder b;
  const auto repeated = [&](const char* name) {
    Value x = b.add("tanh", {b.input(name, f32({2, 2, 40, 16}))});
    x = b.add("reshape", {x}, {{"shape", Integers{2, 2, 1, 40, 16}}});
    x = b.add("broadcast", {x}, {{"shape", Integers{2, 2, 2, 40, 16}}});
    return b.add("reshape", {x}, {{"shape", Integers{2, 4, 40, 16}}});
  };
  const Value turned = b.add("transpose", {repeated("keys")}, {{"perm", Integers{0, 1, 3, 2}}});
  const Value queries = b.add("tanh", {b.input("queries", f32({2, 4, 40, 16}))});
  const Value scores = b.add("matmul", {queries, turned});
  const Value shares = b.add("softmax", {scores}, {{"axis", std::int64_t{3}}});
  b.output("y", b.add("relu", {b.add("matmul", {shares, repeated("values")})}));
  const PlanReport report = within_errors(graph(b), {.precision = Precision::kBF16});
  EXPECT_EQ(count(report, "attention", "row-major"), 1);
}

TEST_F(CudaStorage, LeavesToProductsWhatIsNoAttention) {
  const CompileOptions bf16{.precision = Precision::kBF16};
  // Weights that are seen; rows that do not begin where 16 bytes do; digits that would be lost.
  EXPECT_EQ(count(within_errors(masked_attention(16, true), bf16), "product", "row-major"), 2);
  EXPECT_EQ(count(within_errors(masked_attention(12, false), bf16), "product", "row-major"), 2);
  EXPECT_EQ(count(within_errors(masked_attention(16, false), {}), "product", "row-major"), 2);
}

// Masks of f32's largest number, given and made, and rows that are masked everywhere: what is
// stored of them in bf16 is finite, and an infinity stays one.
TEST_F(CudaStorage, KeepsFiniteMasksFinite) {
  constexpr float kLeast = -std::numeric_limits<float>::max();
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  GraphBuilder b;
  const Value given = b.input("given", f32({4, 16})), keep = b.input("keep", f32({4, 16}));
  const Value made =
      b.add("mul", {b.add("sub", {b.scalar(DType::kF32, 1), keep}), b.scalar(DType::kF32, kLeast)});
  const Value fixed = b.constant(Tensor::filled(f32({1, 16}), kLeast));
  const auto softmax = [&](Value x) { return b.add("softmax", {x}, {{"axis", std::int64_t{1}}}); };
  b.output("given", softmax(b.add("neg", {b.add("neg", {given})})));
  b.output("made", softmax(made));
  b.output("fixed", softmax(b.add("max", {b.add("neg", {keep}), fixed})));
  b.output("added", softmax(b.add("add", {fixed, b.input("small", f32({4, 16}))})));
  const ir::Graph masks = graph(b);
  std::vector<Tensor> inputs{Tensor::filled(f32({4, 16}), kLeast), Tensor(f32({4, 16})),
                             Tensor(f32({4, 16}))};
  inputs[0].mutable_as<float>()[0] = -kInfinite;  // beside finite ones
  inputs[1].mutable_as<float>()[20] = 1;
  const auto plan = backend_->compile(masks, {.precision = Precision::kBF16, .fuse = false});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const auto got = (*plan)->run(inputs);
  ASSERT_TRUE(got.ok()) << got.status().message();
  const auto expected = ir::interpret(masks, inputs);
  ASSERT_TRUE(expected.ok());
  for (std::size_t i = 0; i < got->size(); ++i)
    EXPECT_LE(largest_difference((*expected)[i], (*got)[i]), 0.01) << i;
}

// Values that are read, and given out, and computed of nothing but what comes in.
TEST_F(CudaStorage, GivesOutWhatIsReadToo) {
  GraphBuilder b;
  const Value x = b.input("x", f32({4, 40, 48}));
  const Value w = b.constant(weights({48, 56}, 1));
  const Value y = b.add("matmul", {b.add("tanh", {x}), w});
  b.output("y", y);
  b.output("turned", b.add("transpose", {y}, {{"perm", Integers{0, 2, 1}}}));
  b.output("flat", b.add("reshape", {y}, {{"shape", Integers{4, 2240}}}));
  b.output("x", x);
  b.output("w", w);
  b.output("product", b.add("matmul", {y, b.constant(weights({56, 64}, 2))}));
  within_errors(graph(b), {.precision = Precision::kBF16});
}

TEST_F(CudaStorage, ReshapesOfStoredValuesNeedNoKernel) {
  GraphBuilder b;
  Value x = b.add("matmul", {b.input("x", f32({40, 48})), b.constant(weights({48, 64}, 1))});
  x = b.add("reshape", {x}, {{"shape", Integers{80, 32}}});
  b.output("y", b.add("matmul", {x, b.constant(weights({32, 64}, 2))}));
  const PlanReport report = within_errors(graph(b), {.precision = Precision::kBF16});
  EXPECT_EQ(report.kernels.size(), 3u);  // x in bf16, and two products
}

TEST_F(CudaStorage, TakesConvolutionsOfAnyNumberOfAxes) {
  for (std::size_t axes = 1; axes <= 3; ++axes) {
    GraphBuilder b;
    ir::Shape sizes{2, 4}, of_filter{6, 4};
    sizes.resize(axes + 2, 7);
    of_filter.resize(axes + 2, 3);
    base::Random random(axes);
    const Value x = b.add("tanh", {b.input("x", TensorType(DType::kF32, sizes))});
    const Value w = b.constant(Tensor::random(TensorType(DType::kF32, of_filter), random));
    const Value y = b.add("conv", {x, w},
                          {{"strides", Integers(axes, 2)},
                           {"pads", Integers(2 * axes, 1)},
                           {"dilations", Integers(axes, 1)}});
    b.output("y", b.add("softmax", {y}, {{"axis", std::int64_t{1}}}));
    const PlanReport report = within_errors(graph(b), {.precision = Precision::kBF16});
    EXPECT_EQ(count(report, "convolution", "channels-last"), 1) << axes;
  }
}

TEST(StoredConstant, IsWhatTransposeAndCastMakeOfIt) {
  base::Random random(1);
  const Tensor plain = Tensor::random(f32({3, 4, 2, 5}), random);
  GraphBuilder b;
  const Value moved = b.add("transpose", {b.constant(plain)}, {{"perm", Integers{0, 2, 3, 1}}});
  b.output("y", b.add("cast", {moved}, {{"to", std::string("bf16")}}));
  const auto expected = ir::interpret(*std::move(b).finish(), {});
  ASSERT_TRUE(expected.ok());
  const Tensor actual = cuda::stored_constant(plain, true, true);
  ASSERT_EQ(actual.type(), TensorType(DType::kBF16, {3, 2, 5, 4}));
  for (std::int64_t i = 0; i < actual.elements(); ++i)
    ASSERT_EQ(actual.f64_at(i), (*expected)[0].f64_at(i)) << i;
}

}  // namespace
}  // namespace egret::backends
