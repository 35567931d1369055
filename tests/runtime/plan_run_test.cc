// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan_run.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/system/file.h"
#include "frontends/onnx.h"
#include "ir/evaluate/input_draws.h"
#include "ir/evaluate/interpreter.h"
#include "ir/graph/builder.h"
#include "parallel/placed/program_interface.h"
#include "parallel/plan/plan_file.h"
#include "parallel/plan/planner.h"

namespace egret::runtime {
namespace {

class PlanRuns : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("egret-plan-run-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    ir::GraphBuilder b;
    base::Random random(1);
    const ir::Value x = b.input("x", {ir::DType::kF32, {4, 8}});
    const ir::Value w = b.constant(ir::Tensor::random({ir::DType::kF32, {8, 6}}, random), "w");
    b.output("y", b.add("relu", {b.add("matmul", {x, w})}));
    const auto exported = frontends::export_onnx(*b.finish(), {});
    ASSERT_TRUE(exported.ok());
    ASSERT_TRUE(base::write_file(path("model.onnx"), exported->bytes).ok());
    model_ = frontends::import_onnx(path("model.onnx"))->graph;
    const auto machine = parallel::parse_cluster(parallel::cluster_presets().front().toml, "preset")
                             ->with_mesh(*parallel::Mesh::parse("x=2"));
    const auto plan = parallel::make_plan({model_}, machine, {});
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    parallel::PlanOrigin origin{.model = "model.onnx", .bind = {}, .machine = machine.name};
    origin.model_hash = parallel::model_hash(model_);
    ASSERT_TRUE(base::write_file(path("plan.json"), to_json(*plan, origin).dump(1)).ok());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::filesystem::path folder_;
  ir::Graph model_;
};

// What a user of the library writes; docs/parallel.md shows it.
base::Result<std::vector<ir::Tensor>> run_plan(const std::string& path,
                                               std::span<const ir::Tensor> inputs) {
  EGRET_ASSIGN_OR_RETURN(const Ranks ranks, Ranks::join({}));
  EGRET_ASSIGN_OR_RETURN(LoadedPlan plan, load_plan(path));
  EGRET_ASSIGN_OR_RETURN(PlanRun run, PlanRun::start(std::move(plan), ranks, {}));
  return run.run(inputs);
}

TEST_F(PlanRuns, ComputeTheModelsOutputs) {
  base::Random random(7);
  const std::vector<ir::Tensor> inputs = ir::random_inputs(model_, random);
  const auto outputs = run_plan(path("plan.json"), inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  const auto expected = *ir::interpret(model_, inputs);
  ASSERT_EQ(outputs->size(), 1U);
  for (std::int64_t i = 0; i < expected[0].elements(); ++i)
    EXPECT_NEAR((*outputs)[0].f64_at(i), expected[0].f64_at(i), 1e-5);
}

TEST_F(PlanRuns, RefuseAnotherModel) {
  ir::GraphBuilder b;
  b.output("y", b.add("relu", {b.input("x", {ir::DType::kF32, {4, 8}})}));
  ASSERT_TRUE(
      base::write_file(path("model.onnx"), frontends::export_onnx(*b.finish(), {})->bytes).ok());
  const auto plan = load_plan(path("plan.json"));
  EXPECT_EQ(plan.status().code(), base::StatusCode::kBadInput);
  EXPECT_NE(plan.status().message().find("The model has changed"), std::string::npos)
      << plan.status().message();
}

TEST_F(PlanRuns, RefuseABackendThatDoesNotExist) {
  const Ranks ranks = *Ranks::join({});
  const auto run = PlanRun::start(*load_plan(path("plan.json")), ranks, {.backend = "abacus"});
  EXPECT_TRUE(
      run.status().message().starts_with("unknown backend 'abacus'; known are reference, cpu"))
      << run.status().message();
}

TEST_F(PlanRuns, LocateAMalformedPlan) {
  ASSERT_TRUE(base::write_file(path("plan.json"), "{\"mesh\": ").ok());
  const auto plan = load_plan(path("plan.json"));
  EXPECT_EQ(plan.status().code(), base::StatusCode::kBadInput);
  EXPECT_NE(plan.status().message().find("plan.json"), std::string::npos);
}

}  // namespace
}  // namespace egret::runtime
