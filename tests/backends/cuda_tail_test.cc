// SPDX-License-Identifier: Apache-2.0
// What stands behind products and convolutions, computed along with them by cuDNN on the CUDA
// backend, over libraries that stand in for a GPU's (fake_cuda.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "tests/backends/fake_cuda_test.h"
#include "tests/backends/graph_compare.h"

namespace egret::backends {
namespace {

using ir::DType;
using ir::GraphBuilder;
using ir::Integers;
using ir::Tensor;
using ir::TensorType;
using ir::Value;

TensorType f32(std::initializer_list<std::int64_t> sizes) { return {DType::kF32, sizes}; }

using Tail = std::function<Value(GraphBuilder&, Value)>;

Value number(GraphBuilder& b, double value) { return b.scalar(DType::kF32, value); }

Value silu(GraphBuilder& b, Value x) { return b.add("mul", {x, b.add("sigmoid", {x})}); }

Value hard_swish(GraphBuilder& b, Value x) {
  const Value shifted = b.add("add", {number(b, 3), x});
  const Value low = b.add("max", {shifted, number(b, 0)});
  const Value clipped = b.add("min", {low, number(b, 6)});
  return b.add("div", {b.add("mul", {x, clipped}), number(b, 6)});
}

Value biased(GraphBuilder& b, Value x, std::initializer_list<std::int64_t> sizes) {
  base::Random random(4);
  return b.add("add", {x, b.constant(Tensor::random(f32(sizes), random))});
}

// tail(x w + bias), as an input of another product.
ir::Graph network(const Tail& tail) {
  GraphBuilder b;
  base::Random random(2);
  const auto product = [&](Value x, std::int64_t in, std::int64_t out) {
    return b.add("matmul", {x, b.constant(Tensor::random(f32({in, out}), random))});
  };
  const Value x = b.input("x", f32({2, 24, 64}));
  b.output("y", product(tail(b, biased(b, product(x, 64, 96), {96})), 96, 48));
  return *std::move(b).finish();
}

ir::Graph image_network(const Tail& tail) {
  GraphBuilder b;
  base::Random random(3);
  const auto convolved = [&](Value x, std::int64_t in, std::int64_t out) {
    return b.add("conv", {x, b.constant(Tensor::random(f32({out, in, 3, 3}), random))},
                 {{"strides", Integers{1, 1}},
                  {"pads", Integers{1, 1, 1, 1}},
                  {"dilations", Integers{1, 1}}});
  };
  const Value x = b.add("relu", {convolved(b.input("x", f32({1, 8, 9, 7})), 8, 16)});
  b.output("y", convolved(tail(b, biased(b, convolved(x, 16, 16), {16, 1, 1})), 16, 8));
  return *std::move(b).finish();
}

class CudaTails : public FakeCudaTest {
 protected:
  // Runs it and compares with the f64 interpreter.
  PlanReport check(const ir::Graph& of, const PlanOptions& options) {
    PlanReport report;
    EXPECT_LE(relative_error(of, options, *backend_, &report), 16 * roundoff(options.precision));
    return report;
  }
  static auto steps(const PlanReport& report, std::string_view library) {
    return std::ranges::count(report.kernels, library, &PlanReport::Kernel::implementation);
  }

  const PlanOptions bf16_{.precision = Precision::kBF16};
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
    const PlanReport product = check(network(tail), bf16_);
    EXPECT_EQ(steps(product, "cuDNN"), 1);
    EXPECT_EQ(steps(product, "cuBLASLt"), 1);
    EXPECT_EQ(product.kernels.size(), 2u + 1u);  // and what converts x
  }
}

TEST_F(CudaTails, StandBehindConvolutionsToo) {
  for (const auto& tail : {silu, hard_swish}) {
    const PlanReport report = check(image_network(tail), bf16_);
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
  const PlanReport report = check(network(gated), bf16_);
  EXPECT_EQ(steps(report, "cuDNN"), 1);
  EXPECT_EQ(report.kernels.size(), 2u + 2u);  // and what makes `other`, and converts x
}

TEST_F(CudaTails, AreLeftToKernelsInF32) {
  const PlanReport report = check(network(silu), {});
  EXPECT_EQ(steps(report, "cuDNN"), 0);
  EXPECT_EQ(report.kernels.size(), 3u);
}

TEST_F(CudaTails, AreLeftToKernelsWhereThoseAreFaster) {
  fake_cuda().faster_each_time = true;  // the plan without, which is measured last
  const PlanReport report = check(network(silu), bf16_);
  EXPECT_EQ(steps(report, "cuDNN"), 0);
  EXPECT_EQ(steps(report, "cuBLASLt"), 2);
}

TEST_F(CudaTails, EndWhereAValueIsSeen) {
  GraphBuilder b;
  base::Random random(2);
  const Value w = b.constant(Tensor::random(f32({64, 96}), random));
  const Value x = biased(b, b.add("matmul", {b.input("x", f32({24, 64})), w}), {96});
  b.output("before", x);
  b.output("after", b.add("tanh", {silu(b, x)}));
  const PlanReport report = check(*std::move(b).finish(), bf16_);
  EXPECT_EQ(steps(report, "cuDNN"), 0);
}

}  // namespace
}  // namespace egret::backends
