// SPDX-License-Identifier: Apache-2.0
// What operators take on a GPU, and what that can do at most, over a simulated one (fake_clock.h).
#include "backends/cuda/api/peak_rates.h"
#include "backends/timing/node_timer.h"
#include "tests/backends/fake_clock.h"
#include "tests/backends/fake_cuda_test.h"

namespace egret::backends {
namespace {

using ir::DType;
using ir::TensorType;

TensorType f32(const ir::Shape& shape) { return {DType::kF32, shape}; }

class DeviceCosts : public FakeCudaTest {
 protected:
  void SetUp() override {
    FakeCudaTest::SetUp();
    fake_cuda().simulates = true;
  }
  OperatorTiming timing(std::string_view op, const ir::Attrs& attrs,
                        const std::vector<TensorType>& types, const std::vector<bool>& constants,
                        Precision precision = Precision::kF32) const {
    auto timed =
        time_operator(*backend_, ir::get_operator(op), attrs, types, constants,
                      {.measure = {.min_runs = 3, .min_seconds = 0}, .precision = precision});
    EXPECT_TRUE(timed.ok()) << timed.status().message();
    return timed.ok() ? *std::move(timed) : OperatorTiming{};
  }
};

TEST_F(DeviceCosts, AreThoseOfTheKernelAmongOthers) {
  const double flops = 2.0 * 128 * 768 * 256;
  const double elements = 128 * 768 + 768 * 256 + 128 * 256;
  const OperatorTiming plain =
      timing("matmul", {}, {f32({128, 768}), f32({768, 256})}, {false, true});
  EXPECT_NEAR(plain.alone.median_s,
              FakeClock::seconds({.flops = flops, .bytes = 4 * elements, .depth = 768}), 1e-9);
  // What brings inputs to the form of the kernel, and its result back, is not counted.
  const OperatorTiming narrow =
      timing("matmul", {}, {f32({128, 768}), f32({768, 256})}, {false, true}, Precision::kBF16);
  EXPECT_NEAR(narrow.alone.median_s,
              FakeClock::seconds({.flops = flops,
                                  .bytes = 2 * elements + 2 * 128 * 256,
                                  .depth = 768,
                                  .on_tensor_cores = true}),
              1e-9);
}

TEST_F(DeviceCosts, AreNextToNothingOfWhatAKernelTakesAlong) {
  const TensorType type = f32({1, 64, 128});
  const ir::Attrs part{{"axis", std::int64_t{2}},
                       {"start", std::int64_t{32}},
                       {"size", std::int64_t{64}},
                       {"step", std::int64_t{1}}};
  const ir::Attrs swapped{{"perm", ir::Integers{0, 2, 1}}};
  for (const OperatorTiming& moved :
       {timing("slice", part, {type}, {}), timing("transpose", swapped, {type}, {})}) {
    EXPECT_GT(moved.alone.median_s, 1e-6);  // by itself
    EXPECT_GT(moved.fused_s, 0);
    EXPECT_LE(moved.fused_s, 1e-7);
  }
  const OperatorTiming added = timing("add", {}, {type, type}, {});
  EXPECT_GT(added.fused_s, 0);
  EXPECT_LE(added.fused_s, 1e-7);
  // A product that reads it would have to add up what lies in no order of strides.
  const OperatorTiming scattered =
      timing("gather", {{"axis", std::int64_t{2}}}, {type, TensorType(DType::kI64, {96})}, {});
  EXPECT_GT(scattered.fused_s, 1e-6);
}

TEST_F(DeviceCosts, AreMeasuredWhereTheDeviceSaysWhatItCan) {
  const auto peak = backend_->peak_rates(Precision::kBF16);
  ASSERT_TRUE(peak.has_value());
  EXPECT_NEAR(peak->flops_per_second, 132 * 1.98e9 * 4096, 1e9);
  EXPECT_NEAR(peak->bytes_per_second, 2 * 4.917e12, 1e10);
  EXPECT_FALSE(find_backend("cpu")->peak_rates(Precision::kF32).has_value());
}

TEST(PeakRates, AreThoseOfDataSheets) {
  // An A100 with 80 GB: 19.5, 156 and 312 teraflops, 2.04 terabytes a second.
  const cuda::DeviceFacts a100{.capability = 80,
                               .multiprocessors = 108,
                               .clock_kilohertz = 1'410'000,
                               .memory_clock_kilohertz = 1'593'000,
                               .memory_bus_bits = 5120};
  EXPECT_NEAR(cuda::peak_rates(a100, Precision::kF16).flops_per_second, 312e12, 1e12);
  EXPECT_NEAR(cuda::peak_rates(a100, Precision::kTF32).flops_per_second, 156e12, 1e12);
  EXPECT_GE(cuda::peak_rates(a100, Precision::kF32).flops_per_second, 19.5e12);
  EXPECT_NEAR(cuda::peak_rates(a100, Precision::kF32).bytes_per_second / 2, 2.04e12, 1e10);
  // One whose driver does not say is at least as fast.
  const cuda::DeviceFacts silent{.capability = 80, .multiprocessors = 108};
  EXPECT_GE(cuda::peak_rates(silent, Precision::kBF16).flops_per_second, 312e12);
  EXPECT_GE(cuda::peak_rates(silent, Precision::kBF16).bytes_per_second, 2.04e12);
}

}  // namespace
}  // namespace egret::backends
