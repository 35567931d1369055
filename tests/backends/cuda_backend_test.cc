// SPDX-License-Identifier: Apache-2.0
// The CUDA backend over libraries that stand in for a GPU (fake_cuda.h).
#include "backends/cuda/cuda_backend.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ir/evaluate/interpreter.h"
#include "ir/graph/builder.h"
#include "tests/backends/attention_block.h"
#include "tests/backends/convolve.h"
#include "tests/backends/fake_clock.h"
#include "tests/backends/fake_cuda_test.h"
#include "tests/backends/graph_compare.h"
#include "tests/backends/small_network.h"

namespace egret::backends {
namespace {

using base::StatusCode;
using ir::Attrs;
using ir::DType;
using ir::GraphBuilder;
using ir::Integers;
using ir::Tensor;
using ir::TensorType;
using ir::Value;

TensorType f32(std::initializer_list<std::int64_t> sizes) { return {DType::kF32, sizes}; }

class CudaBackend : public FakeCudaTest {
 protected:
  PlanReport check(GraphBuilder& b, double tolerance = 1e-5) {
    return expect_matches_reference(graph(b), 1, tolerance, *backend_);
  }
  static int steps_of(const PlanReport& report, std::string_view library) {
    return static_cast<int>(
        std::ranges::count(report.kernels, library, &PlanReport::Kernel::implementation));
  }
  static int products(const PlanReport& report) { return steps_of(report, "cuBLASLt"); }

  static std::vector<Tensor> zeros(const std::vector<TensorType>& types) {
    return {types.begin(), types.end()};
  }
};

TEST_F(CudaBackend, RunsAnAttentionBlock) {
  const PlanReport report = expect_matches_reference(attention_block(1, 16), 1, 1e-5, *backend_);
  EXPECT_EQ(products(report), 6);
  EXPECT_LE(report.kernels.size(), 9u);  // products, a softmax, a norm, the join of the heads
}

// A division that is asked for, and the one that the backend makes.
TEST_F(CudaBackend, ComputesTheKernelsThatItIsAskedFor) {
  const ir::Graph network = small_network();
  const auto own = backend_->divide(network, {});
  ASSERT_TRUE(own.ok()) << own.status().message();
  std::vector<int> times(network.size(), 0);
  for (const auto& kernel : *own) {
    for (const ir::NodeId id : kernel) ++times[id.index()];
  }
  for (std::size_t i = 0; i < network.size(); ++i)
    EXPECT_EQ(times[i] > 0, network.node(ir::NodeId(i)).kind == ir::NodeKind::kOperator) << i;

  CompileOptions options;
  options.division = *own;
  PlanReport report;
  EXPECT_LT(relative_error(network, options, *backend_, &report), 1e-5);
  EXPECT_TRUE(std::ranges::any_of(report.kernels, [](const auto& one) { return one.part >= 0; }));
  options.division.clear();
  for (std::size_t i = 0; i < network.size(); ++i) {
    if (network.node(ir::NodeId(i)).kind == ir::NodeKind::kOperator)
      options.division.push_back({ir::NodeId(i)});
  }
  EXPECT_LT(relative_error(network, options, *backend_, &report), 1e-5);
  for (const PlanReport::Kernel& kernel : report.kernels) EXPECT_LE(kernel.ids.size(), 1U);
}

TEST_F(CudaBackend, FindsProductsHoweverTheyAreWritten) {
  const auto transposed = [](GraphBuilder& b, Value x) {
    return b.add("transpose", {x}, {{"perm", Integers{1, 0}}});
  };
  for (int which = 0; which < 8; which += which == 3 ? 3 : 1) {
    GraphBuilder b;
    const bool transpose_a = (which & 1) != 0, transpose_b = (which & 2) != 0;
    const Value a = b.input("a", transpose_a ? f32({48, 40}) : f32({40, 48}));
    const Value c = b.input("b", transpose_b ? f32({56, 48}) : f32({48, 56}));
    const Value y =
        b.add("matmul", {transpose_a ? transposed(b, a) : a, transpose_b ? transposed(b, c) : c});
    b.output("y", (which & 4) != 0 ? transposed(b, y) : y);
    const PlanReport report = check(b);
    EXPECT_EQ(products(report), 1) << which;
    EXPECT_EQ(report.kernels.size(), 1u) << which;
  }
}

TEST_F(CudaBackend, MultipliesBatchesBroadcastsAndPixels) {
  GraphBuilder b;
  const Value batch = b.input("batch", f32({3, 32, 48}));
  const Value other = b.input("other", f32({3, 48, 40}));
  const Value shared = b.input("shared", f32({48, 40}));
  const Value image = b.input("image", f32({2, 32, 8, 8}));
  const Value pixel = b.input("pixel", f32({48, 32, 1, 1}));
  b.output("batched", b.add("matmul", {batch, other}));
  b.output("broadcast", b.add("matmul", {batch, shared}));
  const Attrs window{
      {"strides", Integers{1, 1}}, {"pads", Integers{0, 0, 0, 0}}, {"dilations", Integers{1, 1}}};
  b.output("convolved", b.add("conv", {image, pixel}, window));
  EXPECT_EQ(products(check(b)), 3);
}

// Of one row, or one column, with what is added to it.
TEST_F(CudaBackend, MultipliesAVectorByAMatrix) {
  for (const std::int64_t rows : {1, 2}) {
    GraphBuilder b;
    const Value x = b.input("x", f32({rows, 300}));
    const Value y = b.add("matmul", {x, b.input("w", f32({300, 320}))});
    b.output("y", b.add("relu", {b.add("add", {y, b.input("bias", f32({320}))})}));
    const Value turned =
        b.add("transpose", {b.input("v", f32({320, 300}))}, {{"perm", Integers{1, 0}}});
    const Value z = b.add("add", {b.add("matmul", {x, turned}), b.input("c", f32({rows, 320}))});
    b.output("z", b.add("add", {z, b.input("d", f32({320}))}));
    b.output("column",
             b.add("matmul", {b.input("a", f32({320, 300})), b.input("u", f32({300, 1}))}));
    const PlanReport report = check(b);
    EXPECT_EQ(products(report), 3) << rows;
    EXPECT_EQ(report.kernels.size(), 3u) << rows;
  }
}

TEST_F(CudaBackend, LeavesToKernelsWhatTheLibrariesDoNotTake) {
  fake_cuda().lt_has_algorithms = false;
  fake_cuda().dnn_has_algorithms = false;
  GraphBuilder b;
  convolve(b, {{1, 2, 6, 6}, {3, 2, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1});
  b.output("z", b.add("matmul", {b.input("a", f32({40, 48})), b.input("b", f32({48, 56}))}));
  const PlanReport report = check(b);
  EXPECT_EQ(steps_of(report, "cuDNN") + products(report), 0);
}

TEST_F(CudaBackend, TakesBiasScaleResidualAndReluIntoAProduct) {
  for (const int which : {1, 2, 4, 6, 8, 12, 15}) {
    const bool scaled = (which & 1) != 0, added = (which & 2) != 0, biased = (which & 4) != 0;
    GraphBuilder b;
    Value y = b.add("matmul", {b.input("a", f32({40, 48})), b.input("w", f32({48, 56}))});
    if (scaled) y = b.add("div", {y, b.scalar(DType::kF32, 4)});
    if (added) y = b.add("add", {y, b.input("c", f32({40, 56}))});
    if (biased) y = b.add("add", {b.input("bias", f32({56})), y});
    b.output("y", (which & 8) != 0 ? b.add("relu", {y}) : y);
    const PlanReport report = check(b);
    EXPECT_EQ(products(report), 1) << which;
    EXPECT_EQ(report.kernels.size(), 1u) << which;
  }
}

TEST_F(CudaBackend, LeavesToKernelsWhatIsNoEpilogue) {
  GraphBuilder b;
  const Value a = b.input("a", f32({40, 48})), w = b.input("w", f32({48, 56}));
  const Value y = b.add("matmul", {a, w});
  // A bias for each row; a relu before an addition; a value that two read.
  b.output("by_row", b.add("add", {y, b.input("column", f32({40, 1}))}));
  const Value z = b.add("matmul", {a, b.input("v", f32({48, 56}))});
  b.output("relu_first", b.add("add", {b.add("relu", {z}), b.input("c", f32({40, 56}))}));
  b.output("y", b.add("relu", {y}));
  const PlanReport report = check(b);
  EXPECT_EQ(products(report), 2);
  EXPECT_EQ(report.kernels.size(), 5u);
}

TEST_F(CudaBackend, ComputesInLessThanF32OnlyWhereThatIsAsked) {
  GraphBuilder b;
  b.output("y", b.add("matmul", {b.input("a", f32({40, 48})), b.input("b", f32({48, 56}))}));
  const Attrs attrs{
      {"strides", Integers{1, 1}}, {"pads", Integers{0, 0, 0, 0}}, {"dilations", Integers{1, 1}}};
  b.output("z", b.add("conv", {b.input("x", f32({1, 2, 5, 5})), b.input("w", f32({3, 2, 3, 3}))},
                      attrs));
  const ir::Graph both = graph(b);
  // In bf16 the product of f32, which is looked for first, becomes one of bf16 that adds up in f32.
  const std::pair<Precision, std::set<int>> rows[] = {
      {Precision::kF32, {cuda::kComputeF32}},
      {Precision::kTF32, {cuda::kComputeTF32}},
      {Precision::kBF16, {cuda::kComputeBF16, cuda::kComputeF32}},
      {Precision::kF16, {cuda::kComputeF16}}};
  for (const auto& [precision, compute_types] : rows) {
    begin_anew();
    const auto plan = backend_->compile(both, {.precision = precision, .search = false});
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_EQ(fake_cuda().compute_types, compute_types);
    ASSERT_TRUE((*plan)->run(zeros((*plan)->input_types())).ok());
    const std::int64_t engine = precision == Precision::kF32 ? 2 : 0;
    EXPECT_EQ(fake_cuda().engines.back(), engine);
  }
}

TEST_F(CudaBackend, TakesTheFastestOfTheAlgorithmsThatLibrariesPropose) {
  GraphBuilder b;
  b.output("y", b.add("matmul", {b.input("a", f32({40, 48})), b.input("b", f32({48, 56}))}));
  const ir::Graph product = graph(b);
  for (const bool search : {false, true}) {
    begin_anew();
    fake_cuda().faster_each_time = true;  // the second one wins
    const auto plan = backend_->compile(product, {.search = search});
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    ASSERT_TRUE((*plan)->run(zeros((*plan)->input_types())).ok());
    EXPECT_EQ(fake_cuda().algorithms.back(), search ? 1u : 0u);
  }
}

TEST_F(CudaBackend, ChoosesOnceForEqualSteps) {
  fake_cuda().faster_each_time = true;
  GraphBuilder b;
  Value y = b.input("x", f32({48, 48}));
  const Value w = b.input("w", f32({48, 48}));
  for (int i = 0; i < 3; ++i) y = b.add("sigmoid", {b.add("matmul", {y, w})});
  b.output("y", y);
  const ir::Graph chain = graph(b);
  const auto plan = backend_->compile(chain, {});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const std::size_t tried = fake_cuda().algorithms.size();
  fake_cuda().algorithms.clear();
  ASSERT_TRUE((*plan)->run(zeros((*plan)->input_types())).ok());
  EXPECT_EQ(std::ranges::count(fake_cuda().algorithms, 1u), 6);  // directly, and as recorded
  // And for those of the next plan.
  fake_cuda().algorithms.clear();
  ASSERT_TRUE(backend_->compile(chain, {}).ok());
  EXPECT_LT(fake_cuda().algorithms.size(), tried);
}

// What a library proposes it may refuse to run.
TEST_F(CudaBackend, ComputesByKernelsWhatLibrariesRefuse) {
  for (const bool search : {false, true}) {
    begin_anew();
    fake_cuda().libraries_run = false;
    PlanReport report;
    EXPECT_LE(relative_error(small_network(), {.search = search}, *backend_, &report), 1e-5);
    EXPECT_EQ(products(report) + steps_of(report, "cuDNN"), 0);
  }
}

TEST_F(CudaBackend, TakesTheFasterOfTwoLibraries) {
  GraphBuilder b;
  convolve(b, {{1, 32, 8, 8}, {48, 32, 1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}, 1});
  const ir::Graph pixels = graph(b);
  for (const bool later_is_faster : {false, true}) {
    begin_anew();
    fake_cuda().faster_each_time = later_is_faster;
    const PlanReport report = expect_matches_reference(pixels, 1, 1e-5, *backend_);
    EXPECT_EQ(steps_of(report, "cuBLASLt"), later_is_faster ? 0 : 1);
    EXPECT_EQ(steps_of(report, "cuDNN"), later_is_faster ? 1 : 0);
  }
}

ir::Graph equal_convolutions(int count) {
  GraphBuilder b;
  Value x = b.input("x", f32({1, 4, 9, 9}));
  for (int i = 0; i < count; ++i) {
    const Value filter = b.input("w" + std::to_string(i), f32({4, 4, 3, 3}));
    x = b.add("relu", {b.add("conv", {x, filter},
                             {{"strides", Integers{1, 1}},
                              {"pads", Integers{1, 1, 1, 1}},
                              {"dilations", Integers{1, 1}}})});
  }
  b.output("y", x);
  return *std::move(b).finish();
}

TEST_F(CudaBackend, AsksOnceForWhatIsDescribedAlike) {
  const auto searches = [&](int count) {
    begin_anew();
    const PlanReport report =
        expect_matches_reference(equal_convolutions(count), 1, 1e-5, *backend_);
    EXPECT_EQ(steps_of(report, "cuDNN"), count);
    return fake_cuda().searches;
  };
  EXPECT_EQ(searches(6), searches(3));  // the first and the last may lie otherwise
}

TEST_F(CudaBackend, KeepsWhatItHasMadeForTheNextPlan) {
  const ir::Graph one = equal_convolutions(1);
  const auto made = [&] {
    const int before = fake_cuda().plans;
    EXPECT_TRUE(backend_->compile(one, {}).ok());
    return fake_cuda().plans - before;
  };
  EXPECT_GT(made(), 0);
  EXPECT_EQ(made(), 0);
}

TEST_F(CudaBackend, RunsBranchesOneAfterTheOtherWhereThatIsFaster) {
  GraphBuilder b;
  const Value x = b.input("x", f32({40, 48}));
  const auto branch = [&](const char* name) {
    const Value product = b.add("matmul", {x, b.input(name, f32({48, 56}))});
    return b.add("softmax", {product}, {{"axis", std::int64_t{1}}});
  };
  const Value left = branch("left"), right = branch("right");
  b.output("y", b.add("add", {left, right}));
  const ir::Graph branches = graph(b);
  for (const bool later_is_faster : {false, true}) {  // the plan in order is measured last
    begin_anew();
    fake_cuda().faster_each_time = later_is_faster;
    const auto plan = backend_->compile(branches, {});
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_EQ(dynamic_cast<const cuda::CudaPlan&>(**plan).streams(), later_is_faster ? 1 : 2);
  }
}

TEST_F(CudaBackend, MakesAheadWhatPlansNeed) {
  const ir::Graph graphs[] = {equal_convolutions(1), equal_convolutions(2)};
  backend_->make_ready(graphs, {});
  const int ahead = fake_cuda().plans;
  EXPECT_GT(ahead, 0);
  EXPECT_EQ(fake_cuda().count("launch"), 0u);
  for (const ir::Graph& graph : graphs) expect_matches_reference(graph, 1, 1e-5, *backend_);
  EXPECT_EQ(fake_cuda().plans, ahead);
}

TEST_F(CudaBackend, ReportsOfAPlanThatIsNotRun) {
  const ir::Graph one = equal_convolutions(1);
  const auto report = [&](bool report_only) {
    const auto plan = backend_->compile(one, {.search = false, .report_only = report_only});
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    return plan.ok() ? (*plan)->report() : PlanReport{};
  };
  const PlanReport seen = report(true);
  EXPECT_EQ(fake_cuda().count("allocate"), 0u);
  EXPECT_EQ(fake_cuda().count("module_load"), 0u);
  const PlanReport whole = report(false);
  ASSERT_EQ(seen.kernels.size(), whole.kernels.size());
  for (std::size_t i = 0; i < seen.kernels.size(); ++i) {
    EXPECT_EQ(seen.kernels[i].nodes, whole.kernels[i].nodes);
    EXPECT_EQ(seen.kernels[i].implementation, whole.kernels[i].implementation);
  }
}

// Several plans to choose from are made anew, and the first one is still run.
TEST_F(CudaBackend, RunsWhatWasMadeBeforeMoreWasMade) {
  const ir::Graph one = equal_convolutions(1);
  const auto first = backend_->compile(one, {.search = false});
  const auto second = backend_->compile(one, {});
  ASSERT_TRUE(first.ok() && second.ok());
  base::Random random(6);
  std::vector<Tensor> inputs;
  for (const TensorType& type : (*first)->input_types())
    inputs.push_back(Tensor::random(type, random));
  for (int i = 0; i < 2; ++i) {
    const auto a = (*first)->run(inputs), b = (*second)->run(inputs);
    ASSERT_TRUE(a.ok() && b.ok());
    for (std::int64_t k = 0; k < a->at(0).elements(); ++k)
      ASSERT_NEAR(a->at(0).f64_at(k), b->at(0).f64_at(k), 1e-5);
  }
}

// Those of the steps that are run; one tells whether there can be a step.
TEST_F(CudaBackend, MakesPlansWhereTheyAreTried) {
  const auto plans = [&](bool search) {
    begin_anew();
    const auto plan = backend_->compile(equal_convolutions(1), {.search = search});
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    return fake_cuda().plans;
  };
  const int without = plans(false);
  EXPECT_GT(plans(true), without);
}

TEST_F(CudaBackend, LaunchesARecordedGraphFromTheSecondRunOn) {
  GraphBuilder b;
  const Value x = b.input("x", f32({40, 48}));
  const Value y = b.add("relu", {b.add("matmul", {x, b.input("w", f32({48, 56}))})});
  b.output("y", y);
  b.output("x_too", x);
  const auto plan = backend_->compile(graph(b), {.search = false});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  base::Random random(3);
  const auto inputs = [&] {
    return std::vector{Tensor::random(f32({40, 48}), random),
                       Tensor::random(f32({48, 56}), random)};
  };
  ASSERT_TRUE((*plan)->run(inputs()).ok());
  EXPECT_EQ(fake_cuda().count("capture_begin"), 1u);
  fake_cuda().calls.clear();
  ASSERT_TRUE((*plan)->run(inputs()).ok());
  const std::vector<std::string> expected{"copy_in",      "copy_in",      "event_record",
                                          "graph_launch", "event_record", "copy_out",
                                          "copy_out",     "stream_wait"};
  EXPECT_EQ(fake_cuda().calls, expected);
  EXPECT_NEAR((*plan)->report().device_s, 1e-3, 1e-9);
}

// By what each adds to others, not by what it takes to begin.
TEST_F(CudaBackend, TimesEachKernelOfAProfiledPlan) {
  fake_cuda().simulates = true;
  GraphBuilder b;
  b.output("y", b.add("softmax", {b.input("x", f32({4, 8}))}, {{"axis", std::int64_t{1}}}));
  const auto plan = backend_->compile(graph(b), {.profile = true});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE((*plan)->run(std::vector{Tensor(f32({4, 8}))}).ok());
  const PlanReport report = (*plan)->report();
  EXPECT_NEAR(report.kernels.at(0).seconds, FakeClock::seconds({}), 1e-8);
  EXPECT_GT(report.device_s, 1.5 * report.kernels.at(0).seconds);
}

TEST_F(CudaBackend, ReportsWhatDataMakesFailAndGoesOn) {
  GraphBuilder b;
  const TensorType type(DType::kI64, {2});
  b.output("z", b.add("div", {b.input("x", type), b.input("y", type)}));
  const auto plan = backend_->compile(graph(b), {});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const std::int64_t good[] = {3, 2}, bad[] = {2, 0};
  const auto run = [&](std::span<const std::int64_t> by) {
    return (*plan)->run(std::vector{Tensor::of_integers(good), Tensor::of_integers(by)}).status();
  };
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(run(good).ok());
    EXPECT_EQ(run(bad).code(), StatusCode::kBadInput);
  }
}

TEST_F(CudaBackend, SaysThatMemoryIsShort) {
  fake_cuda().memory_bytes = 1 << 20;
  GraphBuilder b;
  b.output("y", b.add("relu", {b.input("x", f32({1024, 1024}))}));
  EXPECT_EQ(backend_->compile(graph(b), {}).status().code(), StatusCode::kLimit);
}

TEST_F(CudaBackend, SaysWhyItCannotBeUsed) {
  EXPECT_TRUE(backend_->availability().ok());
  fake_cuda().devices = 0;
  EXPECT_EQ(backend_->availability().code(), StatusCode::kUnavailable);
  EXPECT_NE(backend_->availability().message().find("found no GPU"), std::string::npos);

  cuda::Libraries libraries = fake_libraries();
  libraries.driver_version = 11040;
  EXPECT_EQ(cuda::usable(libraries).message(),
            "the NVIDIA driver supports CUDA 11.4; Egret needs 12.0. Install a newer driver");
  libraries = fake_libraries();
  libraries.has_nvrtc = base::unavailable("libnvrtc is not found");
  EXPECT_EQ(cuda::usable(libraries).code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace egret::backends
