// SPDX-License-Identifier: Apache-2.0
// Convolutions of the CUDA backend, over libraries that stand in for a GPU (fake_cuda.h).
#include <gtest/gtest.h>

#include <algorithm>

#include "backends/cuda/steps/convolution.h"
#include "ir/graph/builder.h"
#include "tests/backends/convolve.h"
#include "tests/backends/fake_cuda_test.h"
#include "tests/backends/graph_compare.h"
#include "tests/backends/small_network.h"

namespace egret::backends {
namespace {

using ir::Attrs;
using ir::DType;
using ir::GraphBuilder;
using ir::Integers;
using ir::TensorType;
using ir::Value;

TensorType f32(std::initializer_list<std::int64_t> sizes) { return {DType::kF32, sizes}; }

class CudaConvolutions : public FakeCudaTest {
 protected:
  PlanReport check(GraphBuilder& b) {
    return expect_matches_reference(graph(b), 1, 1e-5, *backend_);
  }
  static int steps_of(const PlanReport& report, std::string_view library) {
    return static_cast<int>(
        std::ranges::count(report.kernels, library, &PlanReport::Kernel::implementation));
  }
};

TEST_F(CudaConvolutions, AreFound) {
  const Window windows[] = {
      {{2, 3, 9, 10}, {4, 3, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1},
      {{1, 4, 9, 10}, {6, 2, 3, 2}, {2, 1}, {0, 1, 0, 1}, {1, 2}, 2},
      {{1, 6, 8, 8}, {6, 1, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 6},  // depthwise
      {{1, 3, 8, 8}, {6, 1, 3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}, 3},  // two outputs a channel
      {{2, 3, 12}, {4, 3, 5}, {2}, {2, 2}, {1}, 1},                   // one axis
      {{1, 2, 5, 6, 7}, {3, 2, 2, 3, 2}, {1, 2, 1}, {0, 1, 0, 0, 1, 0}, {1, 1, 2}, 1},
      {{1, 3, 7, 7}, {4, 3, 7, 7}, {1, 1}, {0, 0, 0, 0}, {1, 1}, 1},  // one pixel out
      {{1, 2, 6, 6}, {3, 2, 3, 3}, {1, 1}, {1, 1, 0, 0}, {1, 1}, 1},  // padded on one side alone
      {{1, 2, 7, 7}, {3, 2, 3, 3}, {2, 2}, {0, 0, 1, 1}, {1, 1}, 1},
  };
  for (const Window& window : windows) {
    GraphBuilder b;
    convolve(b, window);
    EXPECT_EQ(steps_of(check(b), "cuDNN"), 1) << ir::to_string(window.image);
  }
}

// As a product with the matrix of its windows, however values lie.
TEST_F(CudaConvolutions, AreUnrolled) {
  const Window windows[] = {
      {{2, 3, 9, 10}, {4, 3, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1},
      {{2, 4, 9, 10}, {6, 4, 3, 2}, {2, 1}, {0, 1, 0, 1}, {1, 2}, 1},
      {{1, 8, 9, 9}, {4, 8, 1, 1}, {2, 2}, {0, 0, 0, 0}, {1, 1}, 1},
      {{2, 3, 12}, {4, 3, 5}, {2}, {2, 2}, {1}, 1},
      {{1, 2, 5, 6, 7}, {3, 2, 2, 3, 2}, {1, 2, 1}, {0, 1, 0, 0, 1, 0}, {1, 1, 2}, 1},
  };
  for (const Window& window : windows) {
    fake_cuda().dnn_has_algorithms = false;
    GraphBuilder b;
    convolve(b, window);
    EXPECT_EQ(steps_of(check(b), "cuBLASLt"), 1) << ir::to_string(window.image);
  }
}

TEST_F(CudaConvolutions, AreUnrolledWithTheirBiasWhereChannelsLieLast) {
  for (const bool channels_last : {false, true}) {
    begin_anew();
    fake_cuda().dnn_has_algorithms = false;
    fake_cuda().faster_each_time = channels_last;  // the plan that is tried later
    PlanReport report;
    EXPECT_LE(relative_error(small_network(), {}, *backend_, &report), 1e-5);
    const auto unrolled = std::ranges::count_if(report.kernels, [](const auto& kernel) {
      return kernel.implementation == "cuBLASLt" && kernel.name == "convolution" &&
             kernel.nodes.size() > 1;
    });
    EXPECT_EQ(unrolled > 0, channels_last);
  }
}

// A step that cuDNN and cuBLASLt both compute: the second library's algorithms are tried later.
TEST_F(CudaConvolutions, AreUnrolledWhereThatIsFaster) {
  for (const bool later_is_faster : {false, true}) {
    begin_anew();
    fake_cuda().faster_each_time = later_is_faster;
    GraphBuilder b;
    convolve(b, {{2, 3, 9, 10}, {4, 3, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1});
    EXPECT_EQ(steps_of(check(b), "cuDNN"), later_is_faster ? 0 : 1);
  }
}

TEST_F(CudaConvolutions, TakeBiasResidualAndRelu) {
  const Attrs attrs{
      {"strides", Integers{1, 1}}, {"pads", Integers{1, 1, 1, 1}}, {"dilations", Integers{1, 1}}};
  for (int which = 0; which < 8; ++which) {
    GraphBuilder b;
    Value y =
        b.add("conv", {b.input("x", f32({2, 4, 6, 6})), b.input("w", f32({8, 4, 3, 3}))}, attrs);
    if ((which & 1) != 0) y = b.add("add", {y, b.input("bias", f32({1, 8, 1, 1}))});
    if ((which & 2) != 0) y = b.add("add", {y, b.input("residual", f32({2, 8, 6, 6}))});
    if ((which & 4) != 0) y = b.add("relu", {y});
    b.output("y", y);
    const PlanReport report = check(b);
    EXPECT_EQ(steps_of(report, "cuDNN"), 1) << which;
    EXPECT_EQ(report.kernels.size(), 1u) << which;
  }
}

TEST_F(CudaConvolutions, TakeABoundedRelu) {
  GraphBuilder b;
  const Value x = b.input("x", f32({2, 4, 6, 6}));
  const Attrs attrs{
      {"strides", Integers{1, 1}}, {"pads", Integers{1, 1, 1, 1}}, {"dilations", Integers{1, 1}}};
  const Value y = b.add("conv", {x, b.input("w", f32({8, 4, 3, 3}))}, attrs);
  const Value z = b.add("conv", {x, b.input("v", f32({8, 4, 3, 3}))}, attrs);
  b.output("y", b.add("clip", {y}, {{"min", 0.0}, {"max", 0.5}}));
  b.output("z", b.add("clip", {z}, {{"min", -1.0}, {"max", 0.5}}));
  const PlanReport report = check(b);
  EXPECT_EQ(steps_of(report, "cuDNN"), 2);
  EXPECT_EQ(report.kernels.size(), 3u);  // a relu starts at 0
}

TEST_F(CudaConvolutions, OfSingleChannelsAreComputedByTheFasterOfLibraryAndKernel) {
  GraphBuilder b;
  convolve(b, {{1, 24, 8, 8}, {24, 1, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 24});
  const ir::Graph depthwise = graph(b);
  for (const bool later_is_faster : {false, true}) {  // the plan of the kernel is measured last
    begin_anew();
    fake_cuda().faster_each_time = later_is_faster;
    const PlanReport report = expect_matches_reference(depthwise, 1, 1e-5, *backend_);
    EXPECT_EQ(steps_of(report, "cuDNN"), later_is_faster ? 0 : 1);
  }
}

Value sliced(GraphBuilder& b, Value x, std::int64_t axis, std::int64_t start, std::int64_t end) {
  return b.add(
      "slice", {x},
      {{"axis", axis}, {"start", start}, {"size", end - start}, {"step", std::int64_t{1}}});
}

// Some channels of a tensor: read where they are, whether the library or a product of the windows
// computes it; and with channels last, as between convolutions in bf16.
TEST_F(CudaConvolutions, ReadChannelsOfALargerTensor) {
  for (const std::int64_t first : {0, 8, 3}) {
    for (const std::int64_t groups : {1, 2}) {
      for (const bool library : {true, false}) {
        if (!library && groups > 1) continue;  // no product
        begin_anew();
        fake_cuda().dnn_has_algorithms = library;
        GraphBuilder b;
        const Value x = b.input("x", f32({2, 16, 6, 6}));
        const Value w = b.input("w", f32({16, 8 / groups, 3, 3}));
        const Window window{{}, {}, {1, 1}, {1, 1, 1, 1}, {1, 1}, groups};
        b.output("y", b.add("conv", {sliced(b, x, 1, first, first + 8), w}, window.attrs()));
        EXPECT_EQ(check(b).kernels.size(), 1u) << first << " " << groups << " " << library;
      }
    }
  }
}

// What convolutions merged into one leave behind: each half goes to another.
TEST_F(CudaConvolutions, ReadHalvesOfAnotherOnesChannels) {
  const Window window{{}, {}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1};
  for (const Precision precision : {Precision::kF32, Precision::kBF16}) {
    begin_anew();
    GraphBuilder b;
    base::Random random(3);
    const auto weights = [&](const ir::Shape& shape) {
      return b.constant(ir::Tensor::random(TensorType(DType::kF32, shape), random));
    };
    const Value x = b.input("x", f32({2, 8, 6, 6}));
    const Value both = b.add("relu", {b.add("conv", {x, weights({32, 8, 3, 3})}, window.attrs())});
    const Value y =
        b.add("conv", {sliced(b, both, 1, 0, 16), weights({8, 16, 3, 3})}, window.attrs());
    const Value z =
        b.add("conv", {sliced(b, both, 1, 16, 32), weights({8, 16, 3, 3})}, window.attrs());
    b.output("y", y);
    b.output("z", z);
    within_errors(graph(b), {.precision = precision});
  }
}

// A part of the window, of the batch, of the filter's channels or outputs, or a border of the image
// that is not read: none of them is what a descriptor of the whole would say.
TEST_F(CudaConvolutions, OfPartsOfOtherAxesAreRight) {
  const Window window{{}, {}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1};
  struct Part {
    std::int64_t axis, start, end;
    bool of_filter = true;
  };
  const Part parts[] = {{3, 0, 2},        {3, 1, 3},       {1, 0, 2},        {1, 2, 4},
                        {0, 0, 3},        {0, 2, 5},       {0, 0, 1, false}, {0, 1, 2, false},
                        {2, 0, 5, false}, {3, 1, 6, false}};
  for (const Part& part : parts) {
    begin_anew();
    GraphBuilder b;
    Value x = b.input("x", f32({2, 4, 6, 6})), w = b.input("w", f32({6, 4, 3, 3}));
    (part.of_filter ? w : x) = sliced(b, part.of_filter ? w : x, part.axis, part.start, part.end);
    if (part.of_filter && part.axis == 1) x = sliced(b, x, 1, 1, 3);
    b.output("y", b.add("conv", {x, w}, window.attrs()));
    check(b);
  }
}

}  // namespace
}  // namespace egret::backends
