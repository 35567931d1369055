// SPDX-License-Identifier: Apache-2.0
#include "tools/plan_run.h"

#include <cstdlib>
#include <filesystem>
#include <map>

#include "parallel/plan_file.h"
#include "rules/constant_folding.h"

namespace egret::tools {
namespace {

constexpr std::int64_t kMostPlanBytes = std::int64_t{1} << 30;

std::string find_model(const std::string& model, const std::string& plan) {
  if (std::filesystem::exists(model)) return model;
  return (std::filesystem::path(plan).parent_path() / std::filesystem::path(model).filename())
      .string();
}

// The interpreter keeps reals in f64.
ir::Tensor as_declared(const ir::Tensor& tensor, const ir::TensorType& type) {
  if (tensor.dtype() == type.dtype) return tensor;
  ir::Tensor result(type);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) result.set_f64(i, tensor.f64_at(i));
  return result;
}

}  // namespace

bool is_plan_file(const std::string& path) { return path.ends_with(".json"); }

base::Result<PlanRun> PlanRun::of(const std::string& path, const BackendOptions& backend,
                                  double time_limit_s, Console& console) {
  PlanRun run;
  if (backends::MpiWorld::is_distributed()) {
    const auto end = [&console](const std::string& message) {
      console.error(message);
      std::_Exit(base::exit_code(base::StatusCode::kRankFailed));
    };
    EGRET_ASSIGN_OR_RETURN(run.world_, backends::MpiWorld::join(time_limit_s, end));
  }
  const auto load = [&]() -> base::Status {
    EGRET_ASSIGN_OR_RETURN(const std::string text, read_input(path, kMostPlanBytes));
    auto json = base::Json::parse(text);
    if (!json.ok()) return json.status().at(path);
    const auto origin = parallel::read_origin(*json);
    if (!origin.ok()) return origin.status().at(path);
    EGRET_ASSIGN_OR_RETURN(
        const frontends::ImportedModel model,
        read_concrete_model(find_model(origin->model, path), {.bind = origin->bind}, console));
    EGRET_ASSIGN_OR_RETURN(run.model_, rules::fold_constants(model.graph));
    std::map<std::string, const ir::Tensor*> weights;
    for (const ir::Node& node : run.model_.nodes()) {
      if (node.kind == ir::NodeKind::kConstant)
        weights[node.data.content_hash().to_hex()] = &node.data;
    }
    const auto find = [&](const std::string& hash) -> const ir::Tensor* {
      const auto found = weights.find(hash);
      return found == weights.end() ? nullptr : found->second;
    };
    auto placed = parallel::read_program(*json, find);
    if (!placed.ok()) return placed.status().at(path);
    run.placed_ = *std::move(placed);
    if (run.world_ == nullptr) return base::ok();
    if (run.world_->size() != run.placed_.mesh.ranks()) {
      return base::usage_error("the plan is for " + std::to_string(run.placed_.mesh.ranks()) +
                               " ranks (" + to_string(run.placed_.mesh) + "), mpirun started " +
                               std::to_string(run.world_->size()));
    }
    EGRET_ASSIGN_OR_RETURN(run.program_, rank_program(run.placed_, run.world_->rank()));
    return run.compile(backend);
  };
  const base::Status status = load();
  if (!status.ok()) return run.failed(status, console);
  return run;
}

// Ranks share the machine: a thread each.
base::Status PlanRun::compile(const BackendOptions& backend) {
  const backends::Backend* found = backends::find_backend(backend.backend);
  if (found == nullptr) return base::usage_error("no backend is called '" + backend.backend + "'");
  for (const parallel::RankStage& stage : program_.stages) {
    plans_.emplace_back();
    if (stage.segment.outputs.empty()) continue;
    EGRET_ASSIGN_OR_RETURN(plans_.back(), found->compile(stage.segment.graph, {.threads = 1}));
  }
  return base::ok();
}

base::Result<std::vector<ir::Tensor>> PlanRun::run(std::span<const ir::Tensor> inputs) {
  std::vector<ir::Tensor> own;
  for (const parallel::PlacedNode& node : placed_.nodes) {
    if (node.kind != parallel::PlacedNode::Kind::kInput) continue;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (model_.node(model_.inputs()[i]).name == node.name) own.push_back(inputs[i]);
    }
  }
  if (world_ == nullptr) {
    EGRET_ASSIGN_OR_RETURN(std::vector<ir::Tensor> outputs, parallel::interpret(placed_, own));
    for (std::size_t i = 0; i < outputs.size(); ++i)
      outputs[i] = as_declared(outputs[i], model_.node(model_.outputs()[i].node).type);
    return outputs;
  }
  return parallel::run_rank(
      placed_, program_, own,
      [&](std::size_t stage, std::span<const ir::Tensor> values) {
        return plans_[stage]->run(values);
      },
      [&](std::span<const std::int64_t> group, std::span<const std::vector<std::byte>> outgoing) {
        return world_->exchange(group, outgoing);
      });
}

base::Status PlanRun::failed(base::Status status, Console& console) {
  if (world_ == nullptr || status.ok()) return status;
  console.error("rank " + std::to_string(world_->rank()) + ": " + status.message());
  (void)console.finish();
  world_->abort(base::exit_code(base::StatusCode::kRankFailed));
}

}  // namespace egret::tools
