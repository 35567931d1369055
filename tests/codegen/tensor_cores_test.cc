// SPDX-License-Identifier: Apache-2.0
// Contractions on tensor cores: as text, by the GPU's compiler, and on a CPU, where cuda_on_cpu.h
// has the fragments of the instructions as their manual states them.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <limits>
#include <set>
#include <string>

#include "backends/codegen/contractions/tensor_core_writer.h"
#include "backends/cuda/api/device.h"
#include "base/random.h"
#include "ir/graph/builder.h"
#include "tests/codegen/kernel_batch.h"
#include "tests/codegen/needs_host_compiler.h"
#include "tests/codegen/sample_contractions.h"

namespace egret::backends::codegen {
namespace {

using ir::DType;
using ir::Graph;
using ir::GraphBuilder;
using ir::Shape;
using ir::Tensor;
using ir::TensorType;
using ir::Value;

constexpr TensorCores kCores{.has = true, .tf32 = true};

std::vector<Tensor> random_inputs(const Graph& graph, std::uint64_t seed) {
  base::Random random(seed);
  std::vector<Tensor> inputs;
  for (const ir::NodeId id : graph.inputs())
    inputs.push_back(Tensor::random(graph.node(id).type, random));
  return inputs;
}

Graph finished(GraphBuilder b, Value y) {
  b.output("y", y);
  auto graph = std::move(b).finish();
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return *std::move(graph);
}

Graph product(DType type) {
  GraphBuilder b;
  const Value x = b.input("x", TensorType(type, {128, 64}));
  const Value w = b.input("w", TensorType(type, {64, 192}));
  return finished(std::move(b), b.add("matmul", {x, w}));
}

// Padded, channels last: the layout that asks for no transposition.
Graph convolution(DType type, std::int64_t channels) {
  GraphBuilder b;
  const Value x = b.input("x", TensorType(type, {2, 9, 9, channels}));
  const Value w = b.input("w", TensorType(type, {24, 3, 3, channels}));
  const Value image = b.add("transpose", {x}, {{"perm", ir::Integers{0, 3, 1, 2}}});
  const Value kernel = b.add("transpose", {w}, {{"perm", ir::Integers{0, 3, 1, 2}}});
  const Value y = b.add("conv", {image, kernel},
                        {{"strides", ir::Integers{1, 1}},
                         {"pads", ir::Integers{1, 1, 1, 1}},
                         {"dilations", ir::Integers{1, 1}},
                         {"group", std::int64_t{1}}});
  return finished(std::move(b), b.add("transpose", {y}, {{"perm", ir::Integers{0, 2, 3, 1}}}));
}

const KernelSource& only_kernel(KernelBatch& batch, const Graph& graph) {
  batch.add(graph, random_inputs(graph, 1), "kernel");
  EXPECT_EQ(batch.size(), 1U);
  return *batch.kernels()[0];
}

bool has(const KernelSource& kernel, const std::string& text) {
  return kernel.text.find(text) != std::string::npos;
}

ContractionOptions with_cores(int tiles = 0) {
  return {.least_products = 1, .tensor_cores = kCores, .tiles = tiles};
}

TEST(TensorCores, CopyPlainFactorsWithoutRegisters) {
  KernelBatch batch(Target::kCuda, {}, with_cores());
  const KernelSource& kernel = only_kernel(batch, product(DType::kBF16));
  EXPECT_EQ(kernel.fragments, Fragments::kBF16);
  EXPECT_TRUE(has(kernel, "copy_chunk(l_next"));
  EXPECT_TRUE(has(kernel, "copy_chunk(r_next"));
  EXPECT_FALSE(has(kernel, "_held"));
  // Terms are neighbours in the left matrix, columns in the right one.
  EXPECT_TRUE(has(kernel, "load_matrices(a[i]"));
  EXPECT_TRUE(has(kernel, "load_transposed(b[i]"));
  EXPECT_TRUE(has(kernel, "multiply_bf16(sums[i][j]"));
  EXPECT_TRUE(has(kernel, "__syncthreads();"));
}

TEST(TensorCores, ComputeAPrologueIntoRegistersBeforeTheProducts) {
  KernelBatch batch(Target::kCuda, {}, with_cores());
  GraphBuilder b;
  const Value x = b.add("relu", {b.input("x", TensorType(DType::kF16, {128, 64}))});
  const Value w = b.input("w", TensorType(DType::kF16, {64, 192}));
  const Value y = b.add("matmul", {x, w});
  const KernelSource& kernel = only_kernel(batch, finished(std::move(b), b.add("tanh", {y})));
  EXPECT_EQ(kernel.fragments, Fragments::kF16);
  const std::size_t load = kernel.text.find("l_held[i] = f16_bits");
  const std::size_t products = kernel.text.find("multiply_f16(");
  const std::size_t put = kernel.text.find("= l_held[i];");
  ASSERT_NE(put, std::string::npos);
  EXPECT_LT(load, products);
  EXPECT_LT(products, put);
  EXPECT_TRUE(has(kernel, "copy_chunk(r_next"));
  EXPECT_LT(put, kernel.text.find("fn_tanh"));  // the epilogue
}

// A tile of 32 rows and terms reaches beyond a factor of 16 x 3.
TEST(TensorCores, ReadNothingBeforeTheGuardOfATile) {
  KernelBatch batch(Target::kCuda, {}, with_cores());
  GraphBuilder b;
  const Value x = b.input("x", TensorType(DType::kF16, {16, 3}));
  const Value y = b.add("matmul", {x, b.input("w", TensorType(DType::kF16, {3, 16}))});
  const KernelSource& kernel = only_kernel(batch, finished(std::move(b), y));
  EXPECT_EQ(kernel.fragments, Fragments::kF16);
  const std::size_t read = kernel.text.find("in0[");
  ASSERT_NE(read, std::string::npos);
  EXPECT_LT(kernel.text.find("if (own < 16 && k < 3"), read);
}

TEST(TensorCores, CopyAPaddedConvolutionWithChannelsLast) {
  KernelBatch batch(Target::kCuda, {}, with_cores());
  const KernelSource& kernel = only_kernel(batch, convolution(DType::kBF16, 16));
  EXPECT_TRUE(has(kernel, "copy_chunk(l_next"));
  EXPECT_TRUE(has(kernel, "copy_chunk(r_next"));
  EXPECT_FALSE(has(kernel, "_held"));
  KernelBatch odd(Target::kCuda, {}, with_cores());
  EXPECT_TRUE(has(only_kernel(odd, convolution(DType::kBF16, 12)), "_held"));
}

TEST(TensorCores, RoundOnlyWhereThatIsAllowed) {
  KernelBatch exact(Target::kCuda, {}, {.tensor_cores = {.has = true}});
  EXPECT_EQ(only_kernel(exact, product(DType::kF32)).fragments, Fragments::kNone);
  KernelBatch rounded(Target::kCuda, {}, {.tensor_cores = kCores});
  const KernelSource& kernel = only_kernel(rounded, product(DType::kF32));
  EXPECT_EQ(kernel.fragments, Fragments::kTF32);
  EXPECT_TRUE(has(kernel, "round_to_tf32(a[i])"));
  KernelBatch without(Target::kCuda);
  EXPECT_EQ(only_kernel(without, product(DType::kBF16)).fragments, Fragments::kNone);
}

TEST(TensorCores, CallTheInstructionsOfTheManual) {
  const std::string& text = tensor_core_prelude();
  for (const char* expected :
       {"multiply_f16(float (&c)[4]", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 ",
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 ",
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 ",
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 ",
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};",
        "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", "cp.async.cg.shared.global"})
    EXPECT_NE(text.find(expected), std::string::npos) << expected;
}

class TensorCoresOnCpu : public NeedsHostCompiler<::testing::Test> {};

// Kernels of random contractions in these tiles.
void compare(std::uint64_t count, int tiles) {
  KernelBatch narrow(Target::kCuda, {}, with_cores(tiles));
  KernelBatch rounded(Target::kCuda, {}, with_cores(tiles));
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    const Graph graph = random_fragments(seed);
    const std::vector<Tensor> inputs = random_inputs(graph, seed);
    KernelBatch alone(Target::kCuda, {}, with_cores(tiles));
    alone.add(graph, inputs, "");
    const bool rounds = std::ranges::any_of(graph.nodes(), [](const ir::Node& node) {
      return node.kind == ir::NodeKind::kOperator && ir::byte_size(node.type.dtype) == 2;
    });
    const bool tf32 = alone.size() == 1 && alone.kernels()[0]->fragments == Fragments::kTF32;
    (rounds || tf32 ? rounded : narrow)
        .add(graph, inputs, "contraction of seed " + std::to_string(seed));
  }
  narrow.check(2e-5);
  rounded.check(2e-2);  // roundings to TF32, or twice to bf16 of values up to 4
  std::size_t fragments = 0, copied = 0, transposed = 0;
  std::set<Fragments> kinds;
  for (const KernelBatch* batch : {&narrow, &rounded}) {
    for (const KernelSource* kernel : batch->kernels()) {
      if (kernel->fragments == Fragments::kNone) continue;
      ++fragments;
      kinds.insert(kernel->fragments);
      copied += has(*kernel, "copy_chunk") ? 1 : 0;
      transposed += has(*kernel, "load_transposed") ? 1 : 0;
    }
  }
  std::cout << fragments << " of " << count << " on tensor cores, " << copied << " with copies, "
            << transposed << " transposed\n";
  EXPECT_GT(fragments, count * 70 / 100);
  EXPECT_GT(copied, count * 15 / 100);
  EXPECT_GT(transposed, count * 15 / 100);
  EXPECT_GE(kinds.size(), 5U);
}

TEST_F(TensorCoresOnCpu, EqualTheInterpretersResult) { compare(50, 0); }

TEST_F(TensorCoresOnCpu, InOtherTilesEqualTheInterpretersResult) {
  for (const int tiles : {3, 6}) compare(25, tiles);
}

TEST_F(TensorCoresOnCpu, LeaveInfiniteWeightsOutOfThePadding) {
  const Graph graph = convolution(DType::kBF16, 16);
  std::vector<Tensor> inputs = random_inputs(graph, 3);
  for (std::int64_t i = 0; i < inputs[1].elements(); i += 7)
    inputs[1].set_f64(i, std::numeric_limits<double>::infinity());
  KernelBatch batch(Target::kCuda, {}, with_cores());
  batch.add(graph, inputs, "padded");
  EXPECT_EQ(batch.kernels()[0]->fragments, Fragments::kBF16);
  batch.check(2e-2);
}

TEST(TensorCoresNvrtc, CompilesThem) {
  const cuda::Libraries& libraries = cuda::system_libraries();
  if (!libraries.has_nvrtc.ok()) GTEST_SKIP() << libraries.has_nvrtc.message();
  KernelBatch batch(Target::kCuda, {}, with_cores());
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    const Graph graph = random_fragments(seed);
    batch.add(graph, random_inputs(graph, seed), std::to_string(seed));
  }
  for (const int capability : {80, 90}) {
    const auto image = cuda::compile_for_device(libraries.nvrtc, libraries.nvrtc_version,
                                                batch.emitted(), capability);
    ASSERT_TRUE(image.ok()) << image.status().message();
    EXPECT_TRUE(
        image->starts_with("\x7f"
                           "ELF"));
  }
}

}  // namespace
}  // namespace egret::backends::codegen
