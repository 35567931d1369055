// SPDX-License-Identifier: Apache-2.0
// The shared models import, compute their recorded outputs, and compute the same after export and
// after optimization.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "backends/backend.h"
#include "driver/optimize.h"
#include "frontends/onnx.h"
#include "ir/evaluate/interpreter.h"
#include "tests/conformance/backend_case.h"
#include "tests/paths.h"

namespace egret::conformance {
namespace {

using frontends::ImportedModel;
using ir::Tensor;

std::string models_folder() {
  const char* given = std::getenv("EGRET_SHARED");
  return (given != nullptr ? std::string(given) : EGRET_SOURCE_DIR "/../shared") + "/models/";
}

// Element k of n is k / n in float32.
Tensor ramp(const ir::TensorType& type) {
  Tensor tensor(type);
  const auto n = static_cast<float>(tensor.elements());
  for (std::int64_t k = 0; k < tensor.elements(); ++k) tensor.set_f64(k, static_cast<float>(k) / n);
  return tensor;
}

std::vector<Tensor> ramps(const ir::Graph& graph) {
  std::vector<Tensor> inputs;
  for (const ir::NodeId input : graph.inputs()) inputs.push_back(ramp(graph.node(input).type));
  return inputs;
}

std::vector<Tensor> interpret(const ir::Graph& graph) {
  const std::vector<Tensor> inputs = ramps(graph);
  auto outputs = ir::interpret(graph, inputs, {.precision = ir::Precision::kF32});
  EXPECT_TRUE(outputs.ok()) << outputs.status().message();
  return outputs.ok() ? *outputs : std::vector<Tensor>();
}

// What the CPU backend computes, as `egret run` would.
std::vector<Tensor> run_on_cpu(const ir::Graph& graph) {
  auto plan = backends::find_backend("cpu")->compile(graph, {});
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  if (!plan.ok()) return {};
  auto outputs = (*plan)->run(ramps(graph));
  EXPECT_TRUE(outputs.ok()) << outputs.status().message();
  return outputs.ok() ? *outputs : std::vector<Tensor>();
}

void expect_all_close(const std::vector<Tensor>& got, const std::vector<Tensor>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto close = expect_close(got[i], expected[i]);
    EXPECT_TRUE(close.ok()) << "output " << i << ": " << close.message();
  }
}

ImportedModel round_trip(const ImportedModel& model) {
  auto written = frontends::export_onnx(model.graph, model.info);
  EXPECT_TRUE(written.ok()) << written.status().message();
  auto again = frontends::import_onnx_bytes(std::as_bytes(std::span(written->bytes)), "");
  EXPECT_TRUE(again.ok()) << again.status().message();
  return *std::move(again);
}

struct ModelCase {
  std::string name;
  std::map<std::string, std::int64_t> bind{};
};

class SharedModels : public testing::TestWithParam<ModelCase> {};

TEST_P(SharedModels, ComputeTheirRecordedOutputs) {
  const std::string path = models_folder() + GetParam().name + ".onnx";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
  const auto model = frontends::import_onnx(path, {.bind = GetParam().bind});
  ASSERT_TRUE(model.ok()) << model.status().message();
  ASSERT_TRUE(model->graph.check_invariants().ok());
  std::vector<Tensor> expected = interpret(model->graph);
  ASSERT_FALSE(expected.empty());

  const std::string recorded = models_folder() + GetParam().name + "_output_0.pb";
  if (std::filesystem::exists(recorded)) {
    const auto first = frontends::read_tensor_proto(recorded);
    ASSERT_TRUE(first.ok()) << first.status().message();
    const auto close = expect_close(expected[0], *first);
    EXPECT_TRUE(close.ok()) << close.message();
    expected[0] = *first;
  }
  {
    SCOPED_TRACE("after export");
    const ImportedModel again = round_trip(*model);
    expect_all_close(interpret(again.graph), expected);
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_EQ(model->graph.outputs()[i].name, again.graph.outputs()[i].name);
  }
  {
    SCOPED_TRACE("after optimize, on the CPU backend");
    driver::OptimizeOptions options;
    options.cost = "roofline";
    options.cost_db = testing::TempDir() + "no_costs.sqlite";
    options.no_check = options.no_measure = true;
    const auto optimized = driver::optimize(model->graph, options);
    ASSERT_TRUE(optimized.ok()) << optimized.status().message();
    expect_all_close(run_on_cpu(round_trip({optimized->graph, model->info, {}}).graph), expected);
    const auto& report = optimized->report;
    EXPECT_LE(driver::operator_count(report.operators.after),
              driver::operator_count(report.operators.before));
  }
}

INSTANTIATE_TEST_SUITE_P(Onnx, SharedModels,
                         testing::Values(ModelCase{"light_squeezenet"},
                                         ModelCase{"light_shufflenet"},
                                         ModelCase{"light_inception_v1"},
                                         ModelCase{"light_resnet50"},
                                         ModelCase{"trained/hey_jarvis_v0.1"},
                                         ModelCase{"trained/embedding_model", {{"unk__314", 1}}},
                                         ModelCase{"trained/ppocr_cls",
                                                   {{"p2o.DynamicDimension.0", 1},
                                                    {"p2o.DynamicDimension.1", 48},
                                                    {"p2o.DynamicDimension.2", 192}}}),
                         [](const auto& param) {
                           std::string name = param.param.name;
                           for (char& c : name) {
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace egret::conformance
