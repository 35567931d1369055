// SPDX-License-Identifier: Apache-2.0
// Which kernels take packs of elements, and that a GPU then loads and stores 16 bytes at once.
#include <gtest/gtest.h>

#include <tuple>

#include "backends/cuda/api/device.h"
#include "ir/graph/builder.h"
#include "tests/codegen/kernel_batch.h"

namespace egret::backends::codegen {
namespace {

using ir::Attrs;
using ir::DType;
using ir::GraphBuilder;
using ir::Integers;
using ir::TensorType;
using ir::Value;

TensorType bf16(std::initializer_list<std::int64_t> sizes) { return {DType::kBF16, sizes}; }
TensorType f32(std::initializer_list<std::int64_t> sizes) { return {DType::kF32, sizes}; }

// What `define` makes of its builder, as one kernel, compared with the interpreter. The sizes are
// small, so one pack is enough.
template <typename Define>
KernelSource kernel_of(const Define& define, double tolerance = 1e-5) {
  GraphBuilder b;
  b.output("y", define(b));
  const auto graph = std::move(b).finish();
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  base::Random random(1);
  std::vector<ir::Tensor> inputs;
  for (const ir::NodeId id : graph->inputs())
    inputs.push_back(ir::Tensor::random(graph->node(id).type, random));
  KernelBatch batch(Target::kCuda, {1, 1});
  batch.add(*graph, inputs, "kernel");
  batch.check(tolerance);
  EXPECT_EQ(batch.kernels().size(), 1u);
  return *batch.kernels()[0];
}

int count(const std::string& text, std::string_view part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

Value narrow(GraphBuilder& b, Value x) { return b.add("cast", {x}, {{"to", "bf16"}}); }
Value wide(GraphBuilder& b, Value x) { return b.add("cast", {x}, {{"to", "f32"}}); }
Value rows_of(GraphBuilder& b, Value x) {  // channels last to second
  return b.add("transpose", {x}, {{"perm", Integers{0, 3, 1, 2}}});
}
Value channels_last(GraphBuilder& b, Value x) {
  return b.add("transpose", {x}, {{"perm", Integers{0, 2, 3, 1}}});
}

constexpr double kBF16 = 1.0 / 256;

TEST(Packs, AreOfSixteenBytes) {
  const auto biased = [](DType type) {
    return kernel_of(
        [&](GraphBuilder& b) {
          const Value x = wide(b, b.input("x", {type, {6, 64}}));
          return b.add("cast", {b.add("relu", {b.add("add", {x, b.input("bias", f32({64}))})})},
                       {{"to", std::string(to_string(type))}});
        },
        kBF16);
  };
  EXPECT_EQ(biased(DType::kBF16).width, 8);
  EXPECT_EQ(count(biased(DType::kBF16).text, "pack_at<8>"), 2);
  EXPECT_EQ(biased(DType::kF32).width, 4);
}

TEST(Packs, AreOfTheTermsAndLanesOfARow) {
  const KernelSource softmax = kernel_of([](GraphBuilder& b) {
    return b.add("softmax", {b.input("x", f32({3, 64}))}, {{"axis", 1}});
  });
  EXPECT_EQ(softmax.blocks, 3);
  EXPECT_EQ(count(softmax.text, "pack_at<4>"), 3);  // maximum, sum, quotients
}

TEST(Packs, AreOfRowsWhoseTermsLieFarApart) {
  const KernelSource mean = kernel_of(
      [](GraphBuilder& b) {
        const Value x = rows_of(b, wide(b, b.input("x", bf16({2, 7, 7, 48}))));
        return narrow(b, b.add("reduce_mean", {x}, {{"axes", Integers{2, 3}}, {"keepdims", 0}}));
      },
      kBF16);
  EXPECT_EQ(mean.width, 8);
  EXPECT_EQ(mean.blocks, 2 * 48 / 8);
  // What a reduction takes with the rows' packs need not depend on what they are of.
  const KernelSource normed = kernel_of([](GraphBuilder& b) {
    const Value x = rows_of(b, b.input("x", f32({2, 5, 5, 16})));
    const Value image = b.add("reduce_sum", {x}, {{"axes", Integers{1, 2, 3}}, {"keepdims", 1}});
    const Value channel = b.add("reduce_sum", {x}, {{"axes", Integers{2, 3}}, {"keepdims", 1}});
    return channels_last(b, b.add("add", {b.add("mul", {x, channel}), image}));
  });
  EXPECT_GT(normed.width, 1);
}

TEST(Packs, ReachIntoTheWindowsOfAPool) {
  const KernelSource pool = kernel_of(
      [](GraphBuilder& b) {
        const Value x = rows_of(b, wide(b, b.input("x", bf16({1, 6, 6, 16}))));
        const Attrs window{{"kernel", Integers{3, 3}},
                           {"strides", Integers{2, 2}},
                           {"pads", Integers{1, 1, 1, 1}},
                           {"dilations", Integers{1, 1}}};
        return narrow(b, channels_last(b, b.add("max_pool", {x}, window)));
      },
      kBF16);
  EXPECT_EQ(pool.width, 8);
  EXPECT_EQ(count(pool.text, "pack_at<8>"), 1);
}

TEST(Packs, StayWholeWhereAGuardChangesItsMindBetweenThem) {
  const auto joined = [](std::int64_t left, std::int64_t right) {
    return kernel_of([&](GraphBuilder& b) {
      const Value x = b.input("x", bf16({5, left}));
      return b.add("concat", {x, b.input("y", bf16({5, right}))}, {{"axis", 1}});
    });
  };
  EXPECT_EQ(joined(16, 24).width, 8);
  EXPECT_EQ(count(joined(16, 24).text, "pack_at<8>"), 2);
  EXPECT_EQ(joined(12, 28).width, 4);  // 12 is a multiple of 4
  EXPECT_EQ(joined(15, 25).width, 1);
}

TEST(Packs, ComeFromRowsThatDataChooses) {
  const KernelSource gather = kernel_of([](GraphBuilder& b) {
    const Value x = b.input("x", f32({9, 32}));
    return b.add("gather", {x, b.input("rows", {DType::kI64, {4}})}, {{"axis", 0}});
  });
  EXPECT_EQ(gather.width, 4);
}

TEST(Packs, AreNotWhereNeighboursLieApart) {
  const auto transposed = [](GraphBuilder& b) {
    return b.add("transpose", {b.input("x", f32({32, 64}))}, {{"perm", Integers{1, 0}}});
  };
  EXPECT_EQ(kernel_of(transposed).width, 1);
  // Another row of an odd number of elements does not begin with a pack.
  const auto rows = [](GraphBuilder& b) {
    const Value x = b.input("x", f32({8, 33}));
    return b.add("neg", {b.add("slice", {x}, {{"axis", 1}, {"start", 0}, {"size", 32}})});
  };
  EXPECT_EQ(kernel_of(rows).width, 1);
}

TEST(Packs, AreNotOfSoFewElementsThatThreadsLackWork) {
  const auto width = [](std::int64_t rows) {
    GraphBuilder b;
    b.output("y", b.add("neg", {b.input("x", f32({rows, 64}))}));
    KernelBatch batch(Target::kCuda);
    batch.add(*std::move(b).finish(), {ir::Tensor(DType::kF32, ir::Shape{rows, 64})}, "neg");
    return batch.kernels()[0]->width;
  };
  EXPECT_EQ(width(100), 1);
  EXPECT_EQ(width(1024), 2);
  EXPECT_EQ(width(4096), 4);
}

// As the GPU is told: without a device that NVRTC knows, in its assembler's text.
class PacksAsCompiled : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!libraries_.has_nvrtc.ok()) GTEST_SKIP() << libraries_.has_nvrtc.message();
  }
  std::string assembler(const KernelSource& kernel) const {
    const KernelSource* const kernels[] = {&kernel};
    const auto text = cuda::compile_for_device(libraries_.nvrtc, libraries_.nvrtc_version,
                                               source_of(kernels, Target::kCuda), 999);
    EXPECT_TRUE(text.ok()) << text.status().message();
    return text.ok() ? *text : "";
  }

 private:
  const cuda::Libraries& libraries_ = cuda::system_libraries();
};

TEST_F(PacksAsCompiled, AreLoadedAndStoredByOneInstruction) {
  const std::string text = assembler(kernel_of(
      [](GraphBuilder& b) {
        const Value x = wide(b, b.input("x", bf16({6, 64})));
        return narrow(b, b.add("relu", {x}));
      },
      kBF16));
  EXPECT_GE(count(text, "ld.global.nc.v4"), 1);
  EXPECT_EQ(count(text, "ld.global.nc.u16"), 0);
  EXPECT_GE(count(text, "st.global.v4"), 1);
  EXPECT_EQ(count(text, "st.global.u16"), 0);
}

// A row that the threads of a block take in as many turns each stays in their registers, from its
// moments to what becomes of it.
TEST_F(PacksAsCompiled, OfARowAreLoadedOnce) {
  for (const auto& [length, threads, turns] :
       {std::tuple{768, 96, 1}, std::tuple{256, 32, 1}, std::tuple{16384, 1024, 2}}) {
    const KernelSource kernel = kernel_of(
        [&, size = length](GraphBuilder& b) {
          const Value x = wide(b, b.input("x", bf16({4, size})));
          const Value rows =
              b.add("layer_norm", {x, b.scalar(DType::kF32, 2), b.scalar(DType::kF32, 1)},
                    {{"axis", std::int64_t{1}}});
          return narrow(b, rows);
        },
        kBF16);
    EXPECT_EQ(kernel.threads, threads);
    EXPECT_EQ(count(assembler(kernel), "ld.global.nc.v4"), turns) << length;
  }
}

}  // namespace
}  // namespace egret::backends::codegen
