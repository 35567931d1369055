// SPDX-License-Identifier: Apache-2.0
// Emitted contractions on tensor cores beside the libraries' steps, on the CUDA backend over
// libraries that stand in for a GPU's (fake_cuda.h). The kernels run on the CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "ir/graph/builder.h"
#include "tests/backends/fake_cuda_test.h"

namespace egret::backends {
namespace {

using ir::DType;
using ir::GraphBuilder;
using ir::Tensor;
using ir::TensorType;
using ir::Value;

TensorType f32(std::initializer_list<std::int64_t> sizes) { return {DType::kF32, sizes}; }

// A kernel cache of its own, as long as it lives.
class EmptyCache {
 public:
  EmptyCache() {
    EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
    if (const char* const before = std::getenv("EGRET_KERNEL_CACHE")) before_ = before;
    ::setenv("EGRET_KERNEL_CACHE", folder_.c_str(), 1);
  }
  ~EmptyCache() {
    before_.empty() ? ::unsetenv("EGRET_KERNEL_CACHE")
                    : ::setenv("EGRET_KERNEL_CACHE", before_.c_str(), 1);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

 private:
  std::string before_, folder_ = ::testing::TempDir() + "/egret-cache-XXXXXX";
};

class CudaContraction : public FakeCudaTest {
 protected:
  static auto emitted(const PlanReport& report) {
    return std::ranges::count(report.kernels, "contraction", &PlanReport::Kernel::name);
  }
  static auto steps(const PlanReport& report, std::string_view library) {
    return std::ranges::count(report.kernels, library, &PlanReport::Kernel::implementation);
  }
  // `count` equal products, one behind the other.
  static ir::Graph products(int count) {
    GraphBuilder b;
    Value x = b.input("x", f32({48, 96}));
    const Value w = b.input("w", f32({96, 96})), bias = b.input("bias", f32({96}));
    for (int i = 0; i < count; ++i) x = b.add("add", {b.add("matmul", {x, w}), bias});
    b.output("y", x);
    return graph(b);
  }
  // What is measured later seems to take less, and emitted kernels are measured last.
  void make_emitted_faster() { fake_cuda().faster_each_time = true; }
};

TEST_F(CudaContraction, IsTakenWhereItIsFaster) {
  for (const Precision precision : {Precision::kTF32, Precision::kBF16, Precision::kF16}) {
    for (const bool faster : {false, true}) {
      begin_anew();
      fake_cuda().faster_each_time = faster;
      const PlanReport report = within_errors(products(1), {.precision = precision});
      EXPECT_EQ(emitted(report), faster ? 1 : 0);
      EXPECT_EQ(steps(report, "cuBLASLt"), faster ? 0 : 1);
    }
  }
}

// With a stride, padding, a bias and a relu, between values with channels last.
TEST_F(CudaContraction, ComputesConvolutionsWithTheirEpilogue) {
  GraphBuilder b;
  base::Random random(3);
  Value x = b.input("image", f32({1, 16, 7, 6}));
  for (const std::int64_t stride : {1, 2}) {
    const Value w = b.constant(Tensor::random(f32({16, 16, 3, 3}), random));
    const Value bias = b.constant(Tensor::random(f32({1, 16, 1, 1}), random));
    x = b.add("conv", {x, w},
              {{"strides", ir::Integers{stride, stride}},
               {"pads", ir::Integers{1, 1, 1, 1}},
               {"dilations", ir::Integers{1, 1}}});
    x = b.add("relu", {b.add("add", {x, bias})});
  }
  b.output("y", x);
  const ir::Graph network = graph(b);
  for (const Precision precision : {Precision::kTF32, Precision::kBF16}) {
    begin_anew();
    make_emitted_faster();
    const PlanReport report = within_errors(network, {.precision = precision});
    EXPECT_EQ(emitted(report), 2);
    EXPECT_EQ(steps(report, "cuDNN"), 0);
  }
}

TEST_F(CudaContraction, IsNotMadeWhereNothingIsMeasuredOrF32IsKept) {
  for (const auto& options : {CompileOptions{.precision = Precision::kBF16, .search = false},
                              CompileOptions{.precision = Precision::kF32}}) {
    begin_anew();
    make_emitted_faster();
    const PlanReport report = within_errors(products(1), options);
    EXPECT_EQ(emitted(report), 0);
    EXPECT_EQ(steps(report, "cuBLASLt"), 1);
    // Only of what converts values to bf16 and back.
    const std::size_t others = report.kernels.size() - 1;
    EXPECT_LE(fake_cuda().count("module_load"), others);
  }
}

TEST_F(CudaContraction, IsCompiledOnceForEqualSteps) {
  const auto modules = [&](int count) {
    begin_anew();
    make_emitted_faster();
    const auto plan = backend_->compile(products(count), {.precision = Precision::kTF32});
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    if (plan.ok()) {
      EXPECT_EQ(emitted((*plan)->report()), count);
    }
    return fake_cuda().count("module_load");
  };
  const std::size_t of_one = modules(1);
  EXPECT_GE(of_one, 2U);  // two shapes of tiles, in each plan
  EXPECT_EQ(modules(3), of_one);
}

TEST_F(CudaContraction, StandsInForALibraryThatRefuses) {
  fake_cuda().libraries_run = false;
  const PlanReport report = within_errors(products(1), {.precision = Precision::kBF16});
  EXPECT_EQ(steps(report, "cuBLASLt"), 0);
  EXPECT_EQ(emitted(report), 1);
}

TEST_F(CudaContraction, IsLeftToLibrariesWhereItCannotRun) {
  make_emitted_faster();
  fake_cuda().fragments_run = false;
  const PlanReport report = within_errors(products(2), {.precision = Precision::kTF32});
  EXPECT_EQ(emitted(report), 0);
  EXPECT_EQ(steps(report, "cuBLASLt"), 2);
}

// An emitted candidate that NVRTC refuses ends no plan: the library's step stays.
TEST_F(CudaContraction, IsLeftToLibrariesWhereItCannotBeCompiled) {
  const EmptyCache cache;  // in which NVRTC's answers of other tests are not
  make_emitted_faster();
  fake_cuda().fragments_compile = false;
  const PlanReport report = within_errors(products(2), {.precision = Precision::kTF32});
  EXPECT_EQ(emitted(report), 0);
  EXPECT_EQ(steps(report, "cuBLASLt"), 2);
}

// Neither runs: the descriptions of both are refused, and no plan tries them again.
TEST_F(CudaContraction, IsNotMadeAgainOnceItWasRefused) {
  fake_cuda().libraries_run = false;
  fake_cuda().fragments_run = false;
  const ir::Graph one = products(1);
  (void)backend_->compile(one, {.precision = Precision::kTF32});
  const std::size_t tried = fake_cuda().count("matmul");
  EXPECT_GT(tried, 0U);
  fake_cuda().libraries_run = true;
  fake_cuda().fragments_run = true;
  const PlanReport report = within_errors(one, {.precision = Precision::kTF32});
  EXPECT_EQ(fake_cuda().count("matmul"), tried);
  EXPECT_EQ(emitted(report) + steps(report, "cuBLASLt"), 0);
}

// Its kernels are among those that are made before plans are, and lie in the cache then.
TEST_F(CudaContraction, IsCompiledAheadOfPlans) {
  const EmptyCache cache;
  const ir::Graph graphs[] = {products(1)};
  const CompileOptions options{.precision = Precision::kTF32};
  backend_->make_ready(graphs, options);
  EXPECT_EQ(fake_cuda().count("compile"), 2U);
  make_emitted_faster();
  const auto plan = backend_->compile(graphs[0], options);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(emitted((*plan)->report()), 1);
  EXPECT_EQ(fake_cuda().count("compile"), 2U);
}

}  // namespace
}  // namespace egret::backends
