// SPDX-License-Identifier: Apache-2.0
// Steps that write their results where they belong in a larger value, over libraries that stand in
// for a GPU's (fake_cuda.h).
#include <gtest/gtest.h>

#include <algorithm>

#include "backends/codegen/composition.h"
#include "backends/cuda/steps/join.h"
#include "ir/graph/builder.h"
#include "tests/backends/fake_cuda_test.h"

namespace egret::backends {
namespace {

using ir::DType;
using ir::GraphBuilder;
using ir::Integers;
using ir::Tensor;
using ir::TensorType;
using ir::Value;

TensorType f32(const ir::Shape& sizes) { return {DType::kF32, sizes}; }

// ---- What is a join

std::optional<std::vector<cuda::OutputPart>> join_of(
    const std::vector<ir::Shape>& shapes,
    const std::function<Value(GraphBuilder&, std::vector<Value>)>& define) {
  GraphBuilder b;
  std::vector<Value> inputs;
  inputs.reserve(shapes.size());
  for (const ir::Shape& shape : shapes)
    inputs.push_back(b.input("x" + std::to_string(inputs.size()), f32(shape)));
  b.output("y", define(b, inputs));
  const auto graph = std::move(b).finish();
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  std::vector<ir::NodeId> region;
  for (const ir::NodeId id : live_nodes(*graph)) {
    if (graph->node(id).kind == ir::NodeKind::kOperator) region.push_back(id);
  }
  const auto composition = codegen::compose(*graph, region);
  EXPECT_TRUE(composition.ok()) << composition.status().message();
  std::vector<TensorType> types;
  for (const ir::NodeId id : composition->inputs) types.push_back(graph->node(id).type);
  return cuda::find_join(composition->denotation, types);
}

Value concatenated(GraphBuilder& b, const std::vector<Value>& values, std::int64_t axis) {
  return b.add("concat", values, {{"axis", axis}});
}

TEST(Joins, AreOfPartsSideBySide) {
  const auto along = [](std::int64_t axis) {
    return
        [axis](GraphBuilder& b, const std::vector<Value>& x) { return concatenated(b, x, axis); };
  };
  const auto parts = join_of({{2, 3, 4}, {2, 5, 4}, {2, 1, 4}}, along(1));
  ASSERT_TRUE(parts.has_value());
  ASSERT_EQ(parts->size(), 3u);
  const std::int64_t lengths[] = {12, 20, 4}, offsets[] = {0, 12, 32};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ((*parts)[i].length, lengths[i]);
    EXPECT_EQ((*parts)[i].pitch, 36);
    EXPECT_EQ((*parts)[i].offset, offsets[i]);
  }
  EXPECT_TRUE(join_of({{2, 3}, {4, 3}}, along(0)).has_value());
  EXPECT_TRUE(join_of({{2, 3}, {2, 6}}, along(1)).has_value());
}

TEST(Joins, AreNothingElse) {
  const auto none = [](const auto& define) {
    return !join_of({{2, 4}, {2, 4}}, define).has_value();
  };
  EXPECT_TRUE(none([](GraphBuilder& b, const std::vector<Value>& x) {
    return b.add("relu", {concatenated(b, x, 1)});
  }));
  EXPECT_TRUE(none([](GraphBuilder& b, const std::vector<Value>& x) {
    return b.add("add", {x[0], x[1]});
  }));
  EXPECT_TRUE(none([](GraphBuilder& b, const std::vector<Value>& x) {  // rows and columns change
    return b.add("transpose", {concatenated(b, x, 1)}, {{"perm", Integers{1, 0}}});
  }));
  EXPECT_TRUE(none([](GraphBuilder& b, const std::vector<Value>& x) {  // twice the one
    return concatenated(b, {x[0], x[0]}, 0);
  }));
}

// ---- What steps make of it

// Two convolutions of what one leaves, side by side, and one that reads both: a "fire module".
ir::Graph fire_network(bool shows_part = false) {
  GraphBuilder b;
  base::Random random(5);
  const auto convolved = [&](Value x, std::int64_t in, std::int64_t out, std::int64_t pad) {
    const std::int64_t window = 2 * pad + 1;
    x = b.add("conv", {x, b.constant(Tensor::random(f32({out, in, window, window}), random))},
              {{"strides", Integers{1, 1}},
               {"pads", Integers{pad, pad, pad, pad}},
               {"dilations", Integers{1, 1}}});
    x = b.add("add", {x, b.constant(Tensor::random(f32({1, out, 1, 1}), random))});
    return b.add("relu", {x});
  };
  const Value x = convolved(b.input("x", f32({2, 8, 9, 8})), 8, 32, 1);
  const Value left = convolved(x, 32, 64, 0), right = convolved(x, 32, 32, 1);
  b.output("y", convolved(concatenated(b, {left, right}, 1), 96, 16, 0));
  if (shows_part) b.output("left", left);
  return *std::move(b).finish();
}

class CudaJoins : public FakeCudaTest {};

TEST_F(CudaJoins, LeaveNoKernelToCopyParts) {
  for (const Precision precision : {Precision::kF32, Precision::kTF32, Precision::kBF16}) {
    for (const bool blocked : {false, true}) {
      for (const bool with_dnn : {false, true}) {
        begin_anew();
        fake_cuda().dnn_has_algorithms = with_dnn;
        const CompileOptions options{.precision = precision, .search = false, .blocked = blocked};
        const PlanReport report = within_errors(fire_network(), options);
        const auto joins = std::ranges::count_if(report.kernels, [](const auto& kernel) {
          return kernel.implementation == "NVRTC" &&
                 std::ranges::any_of(kernel.nodes, [](auto& n) { return n.starts_with("concat"); });
        });
        // Of rows cuBLASLt takes no bias along, so what stands behind it is a kernel.
        const bool has_last = blocked && precision != Precision::kF32;
        if (!with_dnn && !has_last) continue;
        EXPECT_EQ(joins, 0) << to_string(precision) << blocked;
      }
    }
  }
}

TEST_F(CudaJoins, AreMeasured) {
  for (const bool later_is_faster : {false, true}) {  // plans without joins are tried last
    begin_anew();
    fake_cuda().faster_each_time = later_is_faster;
    const PlanReport report = within_errors(fire_network(), {.precision = Precision::kBF16});
    const bool copies = std::ranges::any_of(report.kernels, [](const auto& kernel) {
      return std::ranges::any_of(kernel.nodes, [](auto& n) { return n.starts_with("concat"); });
    });
    EXPECT_EQ(copies, later_is_faster);
  }
}

TEST_F(CudaJoins, LeaveAloneWhatOthersReadToo) {
  const PlanReport report =
      within_errors(fire_network(true), {.precision = Precision::kBF16, .search = false});
  EXPECT_TRUE(std::ranges::any_of(report.kernels, [](const auto& kernel) {
    return std::ranges::any_of(kernel.nodes, [](auto& n) { return n.starts_with("concat"); });
  }));
}

}  // namespace
}  // namespace egret::backends
