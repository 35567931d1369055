// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "backends/backend.h"
#include "backends/timing/measure.h"
#include "base/system/peak_memory.h"
#include "ir/graph/builder.h"
#include "tests/backends/graph_compare.h"

namespace egret::backends {
namespace {

using ir::Attrs;
using ir::DType;
using ir::GraphBuilder;
using ir::Tensor;
using ir::TensorType;
using ir::Value;

TEST(Backend, IsFoundByName) {
  ASSERT_NE(find_backend("cpu"), nullptr);
  ASSERT_NE(find_backend("reference"), nullptr);
  EXPECT_EQ(find_backend("cpu")->name(), "cpu");
  EXPECT_EQ(find_backend("no-such"), nullptr);
}

TEST(Backend, RefusesSymbolicSizesByName) {
  GraphBuilder b;
  const Value x = b.input("x", {DType::kF32, ir::Dims{ir::symbolic_dim("N"), 4}});
  b.output("y", b.add("relu", {x}));
  const auto graph = b.finish();
  ASSERT_TRUE(graph.ok());
  for (const Backend* backend : all_backends()) {
    const auto plan = backend->compile(*graph, {});
    ASSERT_FALSE(plan.ok());
    EXPECT_EQ(plan.status().code(), base::StatusCode::kUnsupported);
    EXPECT_NE(plan.status().message().find("f32[N,4]"), std::string::npos);
  }
}

TEST(Plan, ChecksItsInputs) {
  GraphBuilder b;
  b.output("y", b.add("relu", {b.input("x", {DType::kF32, {2, 3}})}));
  const auto graph = b.finish();
  const auto plan = find_backend("cpu")->compile(*graph, {});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_FALSE((*plan)->run({}).ok());
  const ir::Tensor wrong(TensorType(DType::kF32, {3, 2}));
  const auto ran = (*plan)->run(std::span(&wrong, 1));
  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.status().message(), "input 0 is f32[3,2]; the plan takes f32[2,3]");
}

TEST(CpuPlan, FusesARegionOfPointwiseOperators) {
  GraphBuilder b;
  const Value x = b.input("x", {DType::kF32, {2, 16, 5, 7}});
  const Value y = b.input("y", {DType::kF32, {16, 1, 1}});
  const Value s = b.add("mul", {x, b.add("sigmoid", {x})});
  b.output("z", b.add("tanh", {b.add("add", {s, y})}));
  const auto graph = b.finish();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const PlanReport report = expect_matches_reference(*graph, 1);
  EXPECT_EQ(report.kernels.size(), 1U);
  EXPECT_EQ(report.kernels[0].nodes.size(), 4U);
  EXPECT_TRUE(report.fallbacks.empty());
}

// Of a chain of products the second holds its operand and its result, which are the widest.
TEST(CpuPlan, SaysWhatIsThereWhenMemoryIsFullest) {
  GraphBuilder b;
  base::Random random(2);
  Value value = b.input("x", {DType::kF32, {16, 8}});
  std::vector<ir::NodeId> products;
  for (const auto& [rows, columns] : {std::pair{8, 512}, {512, 600}, {600, 8}, {8, 8}}) {
    value = b.add("matmul",
                  {value, b.constant(ir::Tensor::random({DType::kF32, {rows, columns}}, random))});
    products.push_back(value.id);
  }
  b.output("y", value);
  const auto plan = find_backend("cpu")->compile(*b.finish(), {.threads = 1});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const PlanReport report = (*plan)->report();
  EXPECT_GE(report.arena_bytes, 16 * (512 + 600) * 4);
  EXPECT_EQ(report.peak_nodes, (std::vector{products[0], products[1]}));
}

TEST(CpuPlan, ReportsWhatTheInterpreterComputes) {
  GraphBuilder b;
  const Value x = b.input("x", {DType::kI64, {4, 3}});
  b.output("y", b.add("add", {x, x}));
  const auto graph = b.finish();
  expect_matches_reference(*graph, 1);
  const auto plan = find_backend("cpu")->compile(*graph, {.emission = Emission::kNone});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const PlanReport report = (*plan)->report();
  ASSERT_EQ(report.fallbacks.size(), 1U);
  EXPECT_EQ(report.fallbacks[0].op, "add");
}

TEST(CpuPlan, FoldsWhatDependsOnConstantsAlone) {
  GraphBuilder b;
  base::Random random(3);
  const Value x = b.input("x", {DType::kF32, {4, 3}});
  const Value c = b.constant(ir::Tensor::random({DType::kF32, {4, 3}}, random));
  b.output("y", b.add("add", {x, b.add("exp", {b.add("mul", {c, c})})}));
  const auto graph = b.finish();
  const PlanReport report = expect_matches_reference(*graph, 1);
  EXPECT_EQ(report.folded_nodes, 2);
  EXPECT_EQ(report.kernels.size(), 1U);
}

TEST(CpuPlan, ReturnsInputsAndConstantsAndSharedValues) {
  GraphBuilder b;
  base::Random random(3);
  const Value x = b.input("x", {DType::kF32, {4, 6}});
  const Value r = b.add("relu", {x});
  b.output("x_again", x);
  b.output("constant", b.constant(ir::Tensor::random({DType::kI64, {5}}, random)));
  b.output("r", r);
  b.output("r_again", r);
  b.output("view", b.add("reshape", {r}, Attrs{{"shape", ir::Integers{3, 8}}}));
  b.output("turned", b.add("transpose", {r}, Attrs{{"perm", ir::Integers{1, 0}}}));
  const auto graph = b.finish();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  (void)expect_matches_reference(*graph, 1);
}

// Each concatenation is of what the one before was of, and one more (DenseNet).
// Constants that are read by several groups, given out, read as they are and packed, scaled before
// they are packed, seen through a view, and folded. (expect_matches_reference() compares.)
TEST(CpuPlan, ComputesTheSameOfAGraphThatItConsumes) {
  GraphBuilder b;
  base::Random random(5);
  const auto constant = [&](ir::Dims dims) {
    return b.constant(ir::Tensor::random({DType::kF32, std::move(dims)}, random));
  };
  const Value x = b.input("x", {DType::kF32, {24, 32}});
  const Value row = b.input("row", {DType::kF32, {1, 32}});
  const Value square = constant({32, 32});
  const Value product = b.add("matmul", {x, square});  // packed twice,
  const Value again = b.add("matmul", {b.add("relu", {product}), square});
  const Value one_row = b.add("matmul", {row, square});                     // packed in panels,
  b.output("sum", b.add("add", {b.add("matmul", {row, square}), square}));  // and as it is
  b.output("again", again);
  b.output("one_row", one_row);
  b.output("square", square);
  const Value flat = constant({16, 1});
  const Value viewed = b.add("reshape", {flat}, {{"shape", ir::Integers{4, 4}}});
  b.output("viewed", b.add("matmul", {b.input("v", {DType::kF32, {3, 4}}), viewed}));
  const Value image = b.input("image", {DType::kF32, {1, 16, 9, 9}});
  const Value filters = constant({32, 16, 3, 3});
  const Attrs same{{"strides", ir::Integers{1, 1}},
                   {"pads", ir::Integers{1, 1, 1, 1}},
                   {"dilations", ir::Integers{1, 1}}};
  const Value convolution = b.add("conv", {image, filters}, same);
  const Value scaled = b.add("mul", {convolution, constant({1, 32, 1, 1})});
  b.output("scaled", b.add("relu", {scaled}));
  b.output("unscaled", b.add("conv", {image, filters}, same));
  const auto graph = b.finish();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  expect_matches_reference(*graph, 6);
}

// Weights that something else holds too are left as they are.
TEST(CpuPlan, LeavesWhatItsGraphSharesWithAnother) {
  GraphBuilder b;
  base::Random random(8);
  const ir::Tensor weights = ir::Tensor::random({DType::kF32, {64, 128}}, random);
  const base::ContentHash before = weights.content_hash();
  const Value x = b.input("x", {DType::kF32, {1, 64}});
  b.output("y", b.add("matmul", {x, b.constant(weights)}));
  const auto graph = b.finish();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const auto plan = find_backend("cpu")->compile_consuming(*graph, {.threads = 1});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(weights.content_hash(), before);
  expect_matches_reference(*graph, 9);
}

TEST(CpuPlan, AddsOneBiasToAllFilters) {
  GraphBuilder b;
  base::Random random(9);
  const Value x = b.input("x", {DType::kF32, {2, 4, 6}});
  const Value w = b.constant(ir::Tensor::random({DType::kF32, {5, 4, 3}}, random));
  const Value bias = b.constant(ir::Tensor::random({DType::kF32, {1}}, random));
  b.output("y", b.add("fused_conv", {x, w, bias},
                      {{"strides", ir::Integers{1}},
                       {"dilations", ir::Integers{1}},
                       {"pads", ir::Integers{1, 1}},
                       {"activation", "relu"}}));
  const auto graph = b.finish();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_TRUE(expect_matches_reference(*graph, 1).fallbacks.empty());
}

TEST(CpuPlan, GrowsAChainOfConcatenationsInOneBuffer) {
  GraphBuilder b;
  base::Random random(7);
  std::vector<Value> parts{b.add("relu", {b.input("x", {DType::kF32, {1, 32, 6, 6}})})};
  for (int i = 0; i < 3; ++i) {
    const Value whole = i == 0 ? parts[0] : b.add("concat", parts, Attrs{{"axis", 1}});
    const TensorType weights(DType::kF32, {16, b.type(whole).shape()[1], 3, 3});
    parts.push_back(b.add("conv", {whole, b.constant(ir::Tensor::random(weights, random))},
                          {{"strides", ir::Integers{1, 1}},
                           {"dilations", ir::Integers{1, 1}},
                           {"pads", ir::Integers{1, 1, 1, 1}}}));
  }
  b.output("y", b.add("relu", {b.add("concat", parts, Attrs{{"axis", 1}})}));
  const auto graph = b.finish();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const PlanReport report = expect_matches_reference(*graph, 1);
  for (const PlanReport::Kernel& kernel : report.kernels) EXPECT_NE(kernel.name, "concat");
}

// Parts of 24 channels do not fill blocks of 16, but four of them do.
TEST(CpuPlan, ConcatenatesHalvesOfBlocksOfChannels) {
  GraphBuilder b;
  base::Random random(7);
  const auto conv = [&](Value x, std::int64_t filters) {
    const ir::TensorType weights(DType::kF32, {filters, b.type(x).shape()[1], 3, 3});
    return b.add("conv", {x, b.constant(ir::Tensor::random(weights, random))},
                 {{"strides", ir::Integers{1, 1}},
                  {"dilations", ir::Integers{1, 1}},
                  {"pads", ir::Integers{1, 1, 1, 1}}});
  };
  const Value x = b.input("x", {DType::kF32, {2, 32, 9, 7}});
  std::vector<Value> parts;
  for (const std::int64_t filters : {24, 40, 8, 24}) parts.push_back(conv(x, filters));
  b.output("y", conv(b.add("concat", parts, Attrs{{"axis", 1}}), 32));
  const auto graph = b.finish();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const PlanReport report = expect_matches_reference(*graph, 1);
  EXPECT_LE(std::ranges::count(report.kernels, std::string("reorder"), &PlanReport::Kernel::name),
            2);  // of the input and the output
}

// Sixteen thousand terms of one sign: added one by one, their sum is off by more.
TEST(CpuPlan, SumsLongProductsOfOneRowExactly) {
  GraphBuilder b;
  base::Random random(11);
  const Value x = b.add("sigmoid", {b.input("x", {DType::kF32, {1, 16384}})});
  ir::Tensor weights = ir::Tensor::random({DType::kF32, {16384, 40}}, random);
  for (float& w : weights.mutable_as<float>()) w = std::abs(w);
  b.output("y", b.add("matmul", {x, b.constant(weights)}));
  (void)expect_matches_reference(*b.finish(), 1, 1e-6);
}

// Overcommitting systems would reserve them, and end the process when they are written to.
TEST(Plan, OfMoreActivationsThanTheMachineHasMemoryIsRefused) {
  const std::int64_t rows = 2 * base::machine_memory_bytes() / (4 << 20);
  ASSERT_GT(rows, 0);
  GraphBuilder b;
  const Value x = b.input("x", TensorType(DType::kF32, {rows, 1}));
  const Value y = b.input("y", TensorType(DType::kF32, {1, 1 << 20}));
  const Value product = b.add("matmul", {x, y});
  b.output("z", b.add("reduce_sum", {b.add("softmax", {product}, {{"axis", std::int64_t{1}}})},
                      {{"axes", ir::Integers{0, 1}}}));
  const auto graph = b.finish();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const auto plan = find_backend("cpu")->compile(*graph, {});
  EXPECT_EQ(plan.status().code(), base::StatusCode::kLimit) << plan.status().message();
}

// There is no row that an index could wrap round to.
TEST(CpuPlan, RefusesAnIndexIntoAnEmptyAxis) {
  GraphBuilder b;
  const Value x = b.input("x", TensorType(DType::kF32, {0, 3}));
  const Value indices = b.input("indices", TensorType(DType::kI64, {2}));
  b.output("y", b.add("gather", {x, indices}));
  const auto plan = find_backend("cpu")->compile(b.finish().value(), {});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const Tensor inputs[] = {Tensor(TensorType(DType::kF32, {0, 3})),
                           Tensor::of_integers(std::vector<std::int64_t>{0, 0})};
  const auto outputs = (*plan)->run(inputs);
  EXPECT_EQ(outputs.status().code(), base::StatusCode::kBadInput);
  EXPECT_EQ(outputs.status().message(), "gather: an index into an empty axis");
}

TEST(CpuPlan, GivesTheSameBitsEachRun) {
  GraphBuilder b;
  const Value x = b.input("x", {DType::kF32, {64, 513}});
  b.output("y", b.add("gelu", {x}));
  const auto graph = b.finish();
  const auto plan = find_backend("cpu")->compile(*graph, {.threads = 2});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const auto inputs = random_inputs(**plan, base::Random(5));
  const auto first = (*plan)->run(inputs);
  ASSERT_TRUE(first.ok());
  for (int i = 0; i < 5; ++i) {
    const auto again = (*plan)->run(inputs);
    EXPECT_EQ((*again)[0].content_hash(), (*first)[0].content_hash());
  }
}

// Two wide values, each made narrow again: one after the other they take half as much.
TEST(CpuPlan, OrdersKernelsToKeepToALimitOfMemory) {
  constexpr std::int64_t kWide = 1024;
  GraphBuilder b;
  base::Random random(5);
  const Value x = b.input("x", {DType::kF32, {16, 16}});
  const auto product = [&](const Value& a, std::int64_t rows, std::int64_t columns) {
    const TensorType type(DType::kF32, {rows, columns});
    return b.add("matmul", {a, b.constant(ir::Tensor::random(type, random))});
  };
  const Value wide_a = product(x, 16, kWide);
  const Value wide_b = product(x, 16, kWide);
  b.output("y", b.add("add", {b.add("softmax", {product(wide_a, kWide, 16)}, Attrs{{"axis", 1}}),
                              product(wide_b, kWide, 16)}));
  const auto graph = b.finish();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  expect_matches_reference(*graph, 5);
  const Backend& backend = *find_backend("cpu");
  const std::int64_t free = (*backend.compile(*graph, {.threads = 1}))->report().arena_bytes;
  EXPECT_GE(free, std::int64_t{2} * 16 * kWide * 4);
  const std::int64_t limit = free * 7 / 10;
  const auto limited = backend.compile(*graph, {.threads = 1, .limit_arena = limit});
  ASSERT_TRUE(limited.ok());
  EXPECT_LE((*limited)->report().arena_bytes, limit);
  // No limit can be kept to at all costs.
  const auto least = backend.compile(*graph, {.threads = 1, .limit_arena = 1});
  ASSERT_TRUE(least.ok());
  EXPECT_EQ((*least)->report().arena_bytes, (*limited)->report().arena_bytes);
}

}  // namespace
}  // namespace egret::backends
