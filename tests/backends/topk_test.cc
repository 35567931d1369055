// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "ir/graph/builder.h"
#include "tests/backends/graph_compare.h"

namespace egret::backends {
namespace {

using ir::DType;
using ir::Tensor;
using ir::TensorType;
using ir::Value;

// Integers of 0 to 10 have many equals.
TEST(CpuTopK, IsTheDefinitionsByAPartialSort) {
  for (const DType type :
       {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI8, DType::kI16, DType::kI32,
        DType::kI64, DType::kU8, DType::kU16, DType::kU32, DType::kU64}) {
    for (std::int64_t axis = 0; axis < 3; ++axis) {
      for (const std::int64_t largest : {0, 1}) {
        ir::GraphBuilder b;
        const Value x = b.input("x", TensorType(type, {7, 9, 12}));
        const ir::Attrs attrs{{"axis", axis}, {"k", std::int64_t{5}}, {"largest", largest}};
        if (type != DType::kBF16)  // the reference's are f32, with a name of other length
          b.output("values", b.add("topk_values", {x}, attrs));
        b.output("indices", b.add("topk_indices", {x}, attrs));
        const auto graph = std::move(b).finish();
        ASSERT_TRUE(graph.ok()) << graph.status().message();
        const PlanReport report = expect_matches_reference(*graph, 1);
        EXPECT_GE(std::ranges::count(report.kernels, "topk", &PlanReport::Kernel::name), 1);
      }
    }
  }
}

// As in NumPy. The definition gives a NaN no place of its own, and ONNX Runtime several.
TEST(CpuTopK, NaNIsTheLargestAndZerosAreEqual) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const float given[] = {0.0F, kNan, -0.0F, kInf, 1, kNan};
  for (const std::int64_t largest : {0, 1}) {
    ir::GraphBuilder b;
    const Value x = b.input("x", TensorType(DType::kF32, {6}));
    b.output("y", b.add("topk_indices", {x},
                        {{"axis", std::int64_t{0}}, {"k", std::int64_t{6}}, {"largest", largest}}));
    const auto graph = std::move(b).finish();
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    const auto plan = find_backend("cpu")->compile(*graph, {});
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    Tensor x_value(TensorType(DType::kF32, {6}));
    std::ranges::copy(given, x_value.mutable_as<float>().begin());
    const std::vector inputs{x_value};
    const auto outputs = (*plan)->run(inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.status().message();
    const auto y = outputs->front().as<std::int64_t>();
    EXPECT_EQ(std::vector(y.begin(), y.end()), largest != 0
                                                   ? (std::vector<std::int64_t>{1, 5, 3, 4, 0, 2})
                                                   : (std::vector<std::int64_t>{0, 2, 4, 3, 1, 5}));
  }
}

}  // namespace
}  // namespace egret::backends
