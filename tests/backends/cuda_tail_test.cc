// SPDX-License-Identifier: Apache-2.0
// What stands behind products and convolutions, computed along with them by cuDNN on the CUDA
// backend, over libraries that stand in for a GPU's (fake_cuda.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "ir/graph/builder.h"
#include "tests/backends/fake_cuda_test.h"
#include "tests/backends/tail_network.h"

namespace egret::backends {
namespace {

using ir::DType;
using ir::GraphBuilder;
using ir::Tensor;
using ir::TensorType;
using ir::Value;

TensorType f32(std::initializer_list<std::int64_t> sizes) { return {DType::kF32, sizes}; }
Value number(GraphBuilder& b, double value) { return b.scalar(DType::kF32, value); }

class CudaTails : public FakeCudaTest {
 protected:
  static auto steps(const PlanReport& report, std::string_view library) {
    return std::ranges::count(report.kernels, library, &PlanReport::Kernel::implementation);
  }

  const CompileOptions bf16_{.precision = Precision::kBF16};
};

TEST_F(CudaTails, AreOfAnyPointwiseOperations) {
  const Tail tails[] = {
      silu,
      hard_swish,
      [](GraphBuilder& b, Value x) { return b.add("gelu", {x}); },
      [](GraphBuilder& b, Value x) { return b.add("tanh", {x}); },
      [](GraphBuilder& b, Value x) {
        return b.add("sub", {number(b, 1), b.add("exp", {x})});
      },
      [](GraphBuilder& b, Value x) {
        return b.add("div", {number(b, 2), b.add("sqrt", {b.add("exp", {b.add("neg", {x})})})});
      }};
  for (const Tail& tail : tails) {
    SCOPED_TRACE(&tail - tails);
    const PlanReport product = within_errors(tail_network(tail), bf16_);
    EXPECT_EQ(steps(product, "cuDNN"), 1);
    EXPECT_EQ(steps(product, "cuBLASLt"), 1);
    EXPECT_EQ(product.kernels.size(), 2u + 1u);  // and what converts x
  }
}

TEST_F(CudaTails, StandBehindConvolutionsToo) {
  for (const auto& tail : {silu, hard_swish}) {
    const PlanReport report = within_errors(tail_image_network(tail), bf16_);
    EXPECT_EQ(steps(report, "cuDNN"), 3);
    EXPECT_EQ(report.kernels.size(), 3u + 1u);  // and what converts the image
  }
}

TEST_F(CudaTails, ReadTensorsToo) {
  const Tail gated = [](GraphBuilder& b, Value x) {
    base::Random random(7);
    const Value scale = b.constant(Tensor::random(f32({96}), random));
    const Value other = b.add("tanh", {b.input("z", f32({2, 24, 96}))});
    return b.add("mul", {other, b.add("tanh", {b.add("mul", {x, scale})})});
  };
  const PlanReport report = within_errors(tail_network(gated), bf16_);
  EXPECT_EQ(steps(report, "cuDNN"), 1);
  EXPECT_EQ(report.kernels.size(), 2u + 2u);  // and what makes `other`, and converts x
}

// A part of a tensor need not begin where 16 bytes do.
TEST_F(CudaTails, StandBehindProductsOfParts) {
  GraphBuilder b;
  base::Random random(2);
  const Value whole = b.add("tanh", {b.input("x", f32({24, 72}))});
  const Value part = b.add("slice", {whole},
                           {{"axis", 1}, {"start", std::int64_t{3}}, {"size", std::int64_t{64}}});
  const Value w = b.constant(Tensor::random(f32({64, 96}), random));
  const Value v = b.constant(Tensor::random(f32({96, 48}), random));
  b.output("y", b.add("matmul", {silu(b, b.add("matmul", {part, w})), v}));
  const PlanReport report = within_errors(*std::move(b).finish(), bf16_);
  EXPECT_EQ(steps(report, "cuDNN"), 1);
}

// Which shows only when an engine for them is to be compiled.
TEST_F(CudaTails, AreLeftToKernelsWhereNoEngineCanBeMade) {
  fake_cuda().dnn_compiles = 2;
  const PlanReport report = within_errors(tail_image_network(hard_swish), bf16_);
  EXPECT_EQ(steps(report, "cuDNN"), 3);
  EXPECT_GT(report.kernels.size(), 3u + 1u);
}

TEST_F(CudaTails, AreLeftToKernelsInF32) {
  const PlanReport report = within_errors(tail_network(silu), {});
  EXPECT_EQ(steps(report, "cuDNN"), 0);
  EXPECT_EQ(report.kernels.size(), 3u);
}

TEST_F(CudaTails, AreLeftToKernelsWhereThoseAreFaster) {
  fake_cuda().faster_each_time = true;  // the plan without, which is measured last
  fake_cuda().fragments_run = false;    // or emitted contractions would win
  const PlanReport report = within_errors(tail_network(silu), bf16_);
  EXPECT_EQ(steps(report, "cuDNN"), 0);
  EXPECT_EQ(steps(report, "cuBLASLt"), 2);
}

TEST_F(CudaTails, EndWhereAValueIsSeen) {
  GraphBuilder b;
  base::Random random(2);
  const Value w = b.constant(Tensor::random(f32({64, 96}), random));
  const Value x = b.add("matmul", {b.input("x", f32({24, 64})), w});
  b.output("before", x);
  b.output("after", b.add("tanh", {silu(b, x)}));
  const PlanReport report = within_errors(*std::move(b).finish(), bf16_);
  EXPECT_EQ(steps(report, "cuDNN"), 0);
}

}  // namespace
}  // namespace egret::backends
