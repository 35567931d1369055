// SPDX-License-Identifier: Apache-2.0
// Emitted kernels of both targets against the f64 interpreter. Those for CUDA run on the CPU as the
// text that a GPU would be given.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <limits>

#include "ir/graph/builder.h"
#include "tests/codegen/kernel_batch.h"
#include "tests/codegen/needs_host_compiler.h"
#include "tests/codegen/sample_kernels.h"

namespace egret::backends::codegen {
namespace {

using ir::DType;
using ir::GraphBuilder;
using ir::Value;

struct Way {
  const char* name;
  Target target;
  LeastPacks least{};
};

class EmittedKernels : public NeedsHostCompiler<::testing::TestWithParam<Way>> {};

TEST_P(EmittedKernels, ComputeWhatEachOperatorIsDefinedToBe) {
  KernelBatch batch(GetParam().target, GetParam().least);
  add_every_operator(batch, 3);
  EXPECT_GT(batch.size(), 350u);
  batch.check();
}

TEST_P(EmittedKernels, ConvertBetweenAllTypes) {
  KernelBatch batch(GetParam().target, GetParam().least);
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  // Rounding ties, the ends of each range, what does not fit, and what is no number.
  const double kValues[] = {0,       -0.0,   1,    -1,       2.5,   -2.5,     0.1,
                            255,     256,    -129, 32768,    65519, 65520,    6e-8,
                            5.97e-8, 3.1e-5, 2049, 2051,     1e30,  -1e30,    4e9,
                            kInf,    -kInf,  kNan, 3.390625, 257.5, 16777217, 1e-40};
  for (int from = 0; from < ir::kDTypeCount; ++from) {
    for (int to = 0; to < ir::kDTypeCount; ++to) {
      const auto source = static_cast<DType>(from);
      const auto target = static_cast<DType>(to);
      const std::string name(to_string(target));
      GraphBuilder b;
      const std::int64_t count = std::size(kValues);
      const Value x = b.input("x", ir::TensorType(source, {count}));
      b.output("y", b.add("cast", {x}, {{"to", name}}));
      const auto graph = std::move(b).finish();
      ASSERT_TRUE(graph.ok()) << graph.status().message();
      batch.add(*graph, {ir::Tensor::of(source, ir::Shape{count}, kValues)},
                std::string(to_string(source)) + " to " + name);
    }
  }
  EXPECT_EQ(batch.size(), 169u);
  batch.check(0);
}

// $EGRET_RANDOM_REGIONS of them, else 150.
TEST_P(EmittedKernels, ComputeRandomRegionsAsOneKernel) {
  const char* given = std::getenv("EGRET_RANDOM_REGIONS");
  const std::uint64_t count = given != nullptr ? std::strtoull(given, nullptr, 10) : 150;
  constexpr std::uint64_t kBatch = 250;
  std::size_t checked = 0;
  for (std::uint64_t first = 0; first < count; first += kBatch) {
    KernelBatch batch(GetParam().target, GetParam().least);
    add_random_regions(batch, std::min(kBatch, count - first), first);
    batch.check(2e-5);
    checked += batch.size();
  }
  std::cout << checked << " of " << count << " regions are one kernel each\n";
  EXPECT_GT(checked, count * 96 / 100);  // a region may have more loops than nests may
}

INSTANTIATE_TEST_SUITE_P(Ways, EmittedKernels,
                         ::testing::Values(Way{"Host", Target::kHost}, Way{"Cuda", Target::kCuda},
                                           Way{"CudaInPacks", Target::kCuda, {1, 1}}),
                         [](const auto& way) { return way.param.name; });

}  // namespace
}  // namespace egret::backends::codegen
