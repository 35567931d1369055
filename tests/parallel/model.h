// SPDX-License-Identifier: Apache-2.0
// What tests of plans share: programs with random weights, machines, plans as text.
#pragma once

#include <gtest/gtest.h>

#include "ir/autodiff/training_graph.h"
#include "ir/graph/builder.h"
#include "parallel/plan/planner.h"

namespace egret::parallel {

// Programs with random weights.
class Model {
 public:
  ir::Value input(const char* name, std::initializer_list<std::int64_t> shape,
                  ir::DType dtype = ir::DType::kF32) {
    return builder_.input(name, {dtype, shape});
  }
  ir::Value weight(const char* name, std::initializer_list<std::int64_t> shape) {
    return builder_.constant(ir::Tensor::random({ir::DType::kF32, shape}, random_), name);
  }
  ir::Value constant(ir::Tensor data) { return builder_.constant(std::move(data)); }
  ir::Value operator()(const char* op, std::initializer_list<ir::Value> inputs,
                       ir::Attrs attrs = {}) {
    return builder_.add(op, inputs, std::move(attrs));
  }
  ir::Graph finish(ir::Value output) {
    builder_.output("y", output);
    return builder_.finish().value();
  }

 private:
  ir::GraphBuilder builder_;
  base::Random random_{7};
};

inline ir::Graph mlp(std::int64_t batch, std::int64_t width, std::int64_t hidden) {
  Model m;
  const ir::Value x = m.input("x", {batch, width});
  const ir::Value h =
      m("relu",
        {m("add", {m("matmul", {x, m.weight("w1", {width, hidden})}), m.weight("b1", {hidden})})});
  return m.finish(m("matmul", {h, m.weight("w2", {hidden, width})}));
}

inline Cluster machine_of(std::string_view mesh, std::string_view preset = "local") {
  for (const ClusterPreset& row : cluster_presets()) {
    if (row.name == preset)
      return parse_cluster(row.toml, row.name)->with_mesh(Mesh::parse(mesh).value());
  }
  return {};
}

inline base::Result<ParallelPlan> plan_of(const ir::Graph& graph, const Cluster& machine,
                                          const ParallelPlanOptions& options = {}) {
  return make_plan(PlanTask{graph}, machine, options);
}

// Of a training step. Inputs as it begins: a random batch, the model's parameters, no state.
inline PlanTask task_of(const ir::TrainingGraph& step) {
  PlanTask task{step.graph};
  base::Random random(3);
  for (std::size_t i = 0; i <= step.model_inputs; ++i) {
    const ir::NodeId input = step.graph.inputs()[i];
    task.inputs.push_back(ir::Tensor::random(step.graph.node(input).type, random));
  }
  task.inputs.insert(task.inputs.end(), step.initial.begin(), step.initial.end());
  for (std::size_t i = 0; i < step.initial.size(); ++i) {
    const ir::NodeId input = step.graph.inputs()[step.model_inputs + 1 + i];
    task.carried.push_back({step.graph.node(input).name, step.graph.outputs()[1 + i].name,
                            i < step.parameters.size() ? LeafRole::kParameter : LeafRole::kState});
  }
  return task;
}

inline std::string placement_of(const ParallelPlan& plan, std::string_view name) {
  for (const PlacedNode& node : plan.program.nodes) {
    if (node.name == name) return to_string(node.placement, plan.program.mesh);
  }
  return "none";
}

inline std::string communication(const ParallelPlan& plan) {
  std::string text;
  for (const Communication& one : plan.communication) {
    text += one.collective + " " + one.axis + " " + std::to_string(one.count) + "x " +
            std::to_string(static_cast<std::int64_t>(one.bytes)) + "\n";
  }
  return text;
}

}  // namespace egret::parallel
