// SPDX-License-Identifier: Apache-2.0
// The default backend leaves no operator to the interpreter where kernels can be compiled.
#include <gtest/gtest.h>

#include <iostream>
#include <set>

#include "backends/backend.h"
#include "backends/codegen/host_compiler.h"
#include "ir/evaluate/interpreter.h"
#include "ir/graph/builder.h"
#include "tests/codegen/sample_kernels.h"

namespace egret::backends::codegen {
namespace {

using ir::GraphBuilder;
using ir::Value;

// Every application of one graph, an output each, so that one file holds all kernels.
struct AllOperators {
  GraphBuilder builder;
  std::vector<ir::Tensor> inputs, expected;
  std::vector<std::string> labels;
  std::set<std::string> interpreted_without;  // operators that have no kernel in some application

  // What the data makes fail is for other tests.
  void add(const parallel::Application& call, const std::vector<ir::Tensor>& tensors) {
    GraphBuilder alone;
    std::vector<Value> parameters;
    for (const ir::TensorType& type : call.types)
      parameters.push_back(alone.input("x" + std::to_string(parameters.size()), type));
    alone.output("y", alone.add(call.op->name(), parameters, call.attrs));
    const auto graph = std::move(alone).finish();
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    const auto value = ir::interpret(*graph, tensors);
    if (!value.ok()) return;
    const auto plan =
        find_backend("cpu")->compile(*graph, {.threads = 1, .emission = Emission::kNone});
    ASSERT_TRUE(plan.ok()) << to_string(call) << ": " << plan.status().message();
    if (!(*plan)->report().fallbacks.empty()) interpreted_without.insert(call.op->name());
    const auto interpreted = (*plan)->run(tensors);
    ASSERT_TRUE(interpreted.ok()) << to_string(call) << ": " << interpreted.status().message();
    const std::string wrong = difference((*interpreted)[0], (*value)[0], 1e-5);
    EXPECT_TRUE(wrong.empty()) << to_string(call) << ", without emitted kernels: " << wrong;

    std::vector<Value> values;
    for (const ir::Tensor& tensor : tensors) {
      values.push_back(builder.input("x" + std::to_string(inputs.size()), tensor.type()));
      inputs.push_back(tensor);
    }
    builder.output("y" + std::to_string(labels.size()),
                   builder.add(call.op->name(), values, call.attrs));
    expected.push_back((*value)[0]);
    labels.push_back(to_string(call));
  }
};

TEST(CpuPlan, LeavesNoOperatorToTheInterpreter) {
  if (!host_compiler_version().ok()) GTEST_SKIP() << host_compiler_version().status().message();
  AllOperators all;
  for_every_operator(4, [&](const parallel::Application& call,
                            const std::vector<ir::Tensor>& inputs) { all.add(call, inputs); });
  const auto graph = std::move(all.builder).finish();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const auto plan =
      find_backend("cpu")->compile(*graph, {.threads = 2, .emission = Emission::kAll});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  std::set<std::string> interpreted;
  for (const auto& fallback : (*plan)->report().fallbacks) {
    interpreted.insert(fallback.op);
    ADD_FAILURE() << fallback.node << " (" << fallback.op << "): " << fallback.reason;
  }
  std::cout << "of " << ir::all_operators().size() << " operators the interpreter computes "
            << all.interpreted_without.size() << " in some types or attributes without emitted "
            << "kernels, " << interpreted.size() << " with them\n";
  EXPECT_GT(all.interpreted_without.size(), 30U);
  const auto values = (*plan)->run(all.inputs);
  ASSERT_TRUE(values.ok()) << values.status().message();
  for (std::size_t i = 0; i < all.labels.size(); ++i) {
    const std::string wrong = difference((*values)[i], all.expected[i], 1e-5);
    EXPECT_TRUE(wrong.empty()) << all.labels[i] << ": " << wrong;
  }
}

}  // namespace
}  // namespace egret::backends::codegen
