// SPDX-License-Identifier: Apache-2.0
// What Egret asks of cuDNN's graph interface, asked of the real library where it is installed: it
// takes a description of an H100 in place of one, so descriptions, heuristics and the making of
// plans are checked without a GPU; only running them is not.
#include "backends/cuda/steps/dnn_graph.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "backends/cuda/api/libraries.h"
#include "backends/cuda/steps/attention.h"
#include "backends/cuda/steps/convolution.h"
#include "backends/cuda/steps/product.h"

namespace egret::backends::cuda {
namespace {

constexpr const char* kH100 = R"({"deviceName":"NVIDIA H100 80GB HBM3","cudaDeviceId":0,
"deviceVer":900,"driverVer":13000,"cudartVersion":13000,"totalGlobalMem":85000000000,
"multiProcessorCount":132,"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],
"regsPerBlock":65536,"warpSize":32,"maxSharedMemoryPerBlock":49152,
"maxSharedMemoryPerBlockOptin":232448,"reservedSharedMemoryPerBlock":1024,
"maxRegistersPerSM":65536,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,
"pciDeviceId":0,"isTccDriver":0,"supportCoopLaunch":1,"smClockRateKHz":1980000,
"memClockRateKHz":2619000,"l2CacheSize":52428800})";

class RealCudnn : public ::testing::Test {
 protected:
  void SetUp() override {
    const Libraries& libraries = system_libraries();
    if (!libraries.has_dnn.ok()) GTEST_SKIP() << libraries.has_dnn.message();
    device_ = std::make_unique<DnnDescriptors>(libraries.dnn);
    h100_ = device_->make(kDnnDeviceDescriptor);
    const std::string text = kH100;
    device_->set(h100_, kDnnDeviceJson, kDnnChar, static_cast<std::int64_t>(text.size()),
                 text.data());
    device_->finish(h100_);
    if (!device_->ok()) GTEST_SKIP() << "this cuDNN takes no description of a device";
  }

  std::size_t plans_of(const Convolution& convolution, Precision precision) {
    DnnOperations operations(system_libraries().dnn);
    const DnnArguments arguments = describe(convolution, operations);
    EXPECT_EQ(arguments.inputs.size(), 2 + convolution.added.size());
    const auto plans =
        operations.plans({.device = h100_}, {convolution.image.type, precision, kWorkspace}, 4);
    EXPECT_EQ(operations.status(), 0);
    return plans.size();
  }

  std::unique_ptr<DnnDescriptors> device_;
  DnnBackend h100_ = nullptr;
};

enum class Lies { kRowMajor, kChannelsLast };

Convolution::Tensor tensor(int input, std::vector<std::int64_t> sizes, ir::DType type,
                           Lies lies = Lies::kRowMajor) {
  const std::int64_t pixels = sizes[2] * sizes[3];
  if (lies == Lies::kRowMajor)
    return {input, sizes, {sizes[1] * pixels, pixels, sizes[3], 1}, type};
  return {input, sizes, {sizes[1] * pixels, 1, sizes[3] * sizes[1], sizes[1]}, type};
}

Convolution three_by_three(ir::DType type, Lies lies = Lies::kRowMajor) {
  Convolution c;
  c.image = tensor(0, {1, 64, 56, 56}, type, lies);
  c.filter = tensor(1, {64, 64, 3, 3}, type, lies);
  c.output = tensor(-1, {1, 64, 56, 56}, type, lies);
  c.pads = c.pads_after = c.strides = c.dilations = {1, 1};
  return c;
}

TEST_F(RealCudnn, HasPlansForConvolutionsInAllPrecisions) {
  for (const ir::DType type : {ir::DType::kF32, ir::DType::kF16, ir::DType::kBF16}) {
    for (const Precision precision : {Precision::kF32, Precision::kTF32}) {
      EXPECT_GT(plans_of(three_by_three(type), precision), 0u)
          << to_string(type) << " " << static_cast<int>(precision);
    }
  }
}

TEST_F(RealCudnn, TakesGroupsStridesAndPaddingThatDiffersFromSideToSide) {
  Convolution c = three_by_three(ir::DType::kF32);
  c.groups = 64;
  c.filter = tensor(1, {64, 1, 3, 3}, ir::DType::kF32);
  EXPECT_GT(plans_of(c, Precision::kF32), 0u);
  Convolution uneven = three_by_three(ir::DType::kF32);
  uneven.pads = {0, 0};
  uneven.pads_after = {1, 1};
  uneven.strides = {2, 2};
  uneven.output = tensor(-1, {1, 64, 28, 28}, ir::DType::kF32);
  EXPECT_GT(plans_of(uneven, Precision::kF32), 0u);
}

TEST_F(RealCudnn, BoundsRelus) {
  for (const ir::DType type : {ir::DType::kF32, ir::DType::kBF16}) {
    for (const Lies lies : {Lies::kRowMajor, Lies::kChannelsLast}) {
      Convolution c = three_by_three(type, lies);
      c.added.push_back(tensor(2, {1, 64, 1, 1}, type, lies));
      c.relu = true;
      c.most = 6;
      EXPECT_GT(plans_of(c, Precision::kTF32), 0u) << to_string(type);
    }
  }
}

TEST_F(RealCudnn, FusesWhatStandsAroundAConvolution) {
  for (const ir::DType type : {ir::DType::kF32, ir::DType::kF16, ir::DType::kBF16}) {
    for (const Precision precision : {Precision::kF32, Precision::kTF32}) {
      for (const Lies lies : {Lies::kRowMajor, Lies::kChannelsLast}) {
        if (lies == Lies::kChannelsLast && type == ir::DType::kF32 && precision == Precision::kF32)
          continue;  // engines without tensor cores take rows
        for (const bool residual : {false, true}) {
          Convolution c = three_by_three(type, lies);
          if (residual) c.added.push_back(tensor(3, {1, 64, 56, 56}, type, lies));
          c.added.push_back(tensor(2, {1, 64, 1, 1}, type, lies));
          c.relu = true;
          EXPECT_GT(plans_of(c, precision), 0u)
              << to_string(type) << (precision == Precision::kF32 ? "" : " tf32")
              << (lies == Lies::kRowMajor ? "" : ", channels last")
              << (residual ? ", residual" : "");
        }
      }
    }
  }
}

TEST_F(RealCudnn, WritesPartsOfLargerTensors) {
  const std::int64_t channels = 160, pixels = std::int64_t{56} * 56;
  for (const Lies lies : {Lies::kRowMajor, Lies::kChannelsLast}) {
    for (const ir::DType type : {ir::DType::kF32, ir::DType::kBF16}) {
      for (const bool residual : {false, true}) {
        // With channels last a residual would have to lie as the part does.
        if (residual && lies == Lies::kChannelsLast) continue;
        Convolution c = three_by_three(type, lies);
        if (residual) c.added.push_back(tensor(3, {1, 64, 56, 56}, type, lies));
        c.added.push_back(tensor(2, {1, 64, 1, 1}, type, lies));
        c.relu = true;
        const bool last = lies == Lies::kChannelsLast;
        ASSERT_TRUE(put(c, {.length = 64 * (last ? 1 : pixels),
                            .pitch = channels * (last ? 1 : pixels),
                            .offset = 0}));
        EXPECT_EQ(c.output.strides[3], last ? channels : 1);
        EXPECT_GT(plans_of(c, Precision::kTF32), 0u) << to_string(type) << last << residual;
      }
    }
  }
}

// Engines that are compiled for what they are to compute load the result into the driver. The
// toolkit has a stub of it that refuses: what gets so far was taken and compiled.
constexpr int kDriverRefused = 5001;
int (*real_finalize)(DnnBackend) = nullptr;
int compiled = 0;

int finalize_and_count(DnnBackend descriptor) {
  const int status = real_finalize(descriptor);
  if (status == kDriverRefused) ++compiled;
  return status;
}

class RealCudnnCompiles : public RealCudnn {
 protected:
  void SetUp() override {
    const std::filesystem::path stub = std::filesystem::path(EGRET_CUDA_STUBS) / "libcuda.so";
    if (!std::filesystem::exists(stub))
      GTEST_SKIP() << "the toolkit's stub of the driver is not here";
    ASSERT_NE(::dlopen(stub.c_str(), RTLD_NOW | RTLD_GLOBAL), nullptr) << ::dlerror();
    RealCudnn::SetUp();
    if (IsSkipped()) return;
    counting_ = system_libraries().dnn;
    real_finalize = counting_.backend_finalize;
    counting_.backend_finalize = finalize_and_count;
  }

  // Plans, and engines whose compiled kernels the driver would have taken, as many as there are of
  // a few. `describe_it` describes the operations.
  template <typename Describe>
  std::size_t engines_of(const Describe& describe_it, ir::DType type,
                         Precision precision = Precision::kF32) {
    DnnOperations operations(counting_);
    (void)describe_it(operations);
    compiled = 0;
    const auto plans = operations.plans({.device = h100_}, {type, precision, kWorkspace}, 4);
    EXPECT_EQ(operations.status(), 0);
    return plans.size() + static_cast<std::size_t>(compiled);
  }
  std::size_t engines_of(const Attention& attention, AttentionForm form) {
    return engines_of([&](DnnOperations& o) { return describe(attention, form, o); },
                      attention.type);
  }

  DnnFunctions counting_;
};

// Heads lie beside each other in a row, as projections leave them.
Attention attention_of(ir::DType type, std::int64_t rows, std::int64_t head) {
  const std::int64_t heads = 12, width = heads * head;
  Attention a;
  a.type = type;
  a.scale = 0.1;
  const std::array<std::int64_t, 4> strides{rows * width, head, width, 1};
  a.q = {0, 0, {2, heads, rows, head}, strides};
  a.k = {1, 0, {2, heads, rows, head}, strides};
  a.v = {2, 0, {2, heads, rows, head}, strides};
  a.output = {-1, 0, {2, heads, rows, head}, strides};
  return a;
}

TEST_F(RealCudnnCompiles, Attention) {
  for (const ir::DType type : {ir::DType::kF16, ir::DType::kBF16}) {
    for (const std::int64_t head : {64, 128}) {
      const std::int64_t rows = 200;
      Attention a = attention_of(type, rows, head);
      const std::string what = std::string(to_string(type)) + " " + std::to_string(head);
      EXPECT_GT(engines_of(a, AttentionForm::kWhole), 0u) << what;
      if (head != 64) continue;  // all that engines take in parts
      EXPECT_GT(engines_of(a, AttentionForm::kParts), 0u) << what;
      a.mask = Attention::Tensor{3, 0, {1, 1, rows, rows}, {rows * rows, rows * rows, rows, 1}};
      EXPECT_GT(engines_of(a, AttentionForm::kParts), 0u) << what << ", mask";
      a.scale = 1;
      EXPECT_GT(engines_of(a, AttentionForm::kParts), 0u) << what << ", mask, no scale";
    }
  }
}

// x is the sum and a bias: x * (1 + erf(x / 1.41)) / 2, x / (1 + exp(-x)), x * clip(x + 3) / 6.
std::vector<std::vector<Tail::Operation>> tails() {
  using Operand = Tail::Operand;
  using Kind = Operand::Kind;
  const auto number = [](double value) { return Operand{Kind::kNumber, 0, value}; };
  const auto result = [](std::size_t i) { return Operand{Kind::kResult, i}; };
  const Tail::Operation biased{kDnnAdd, Operand{Kind::kSum}, Operand{Kind::kInput, 0}};
  const Operand x = result(0);
  return {{biased,
           {kDnnDivide, x, number(1.4142135)},
           {kDnnErf, result(1)},
           {kDnnAdd, result(2), number(1)},
           {kDnnMultiply, x, result(3)},
           {kDnnMultiply, result(4), number(0.5)}},
          {biased,
           {kDnnNegate, x},
           {kDnnExponential, result(1)},
           {kDnnAdd, result(2), number(1)},
           {kDnnReciprocal, result(3)},
           {kDnnMultiply, x, result(4)}},
          {biased,
           {kDnnAdd, x, number(3)},
           {kDnnMax, result(1), number(0)},
           {kDnnMin, result(2), number(6)},
           {kDnnMultiply, x, result(3)},
           {kDnnDivide, result(4), number(6)}}};
}

TEST_F(RealCudnnCompiles, TailsOfProducts) {
  for (const auto& tail : tails()) {
    Product p;
    p.tail = tail;
    p.added = {{2, true}};
    p.gemm.m = 3072;
    p.gemm.n = 128;
    p.gemm.k = 768;
    p.gemm.a = {.input = 1, .rows = 3072, .columns = 768, .leading = 3072};
    p.gemm.b = {.input = 0, .rows = 768, .columns = 128, .leading = 768};
    p.gemm.leading = 3072;
    p.gemm.type = p.gemm.output_type = ir::DType::kBF16;
    EXPECT_GT(engines_of([&](DnnOperations& o) { return describe(p, o); }, p.gemm.type), 0u);
  }
}

TEST_F(RealCudnnCompiles, TailsOfConvolutions) {
  for (const auto& tail : tails()) {
    Convolution c = three_by_three(ir::DType::kBF16, Lies::kChannelsLast);
    c.added.push_back(tensor(2, {1, 64, 1, 1}, ir::DType::kBF16, Lies::kChannelsLast));
    c.tail = tail;
    const auto describe_it = [&](DnnOperations& o) { return describe(c, o); };
    EXPECT_GT(engines_of(describe_it, ir::DType::kBF16), 0u);
  }
}

}  // namespace
}  // namespace egret::backends::cuda
