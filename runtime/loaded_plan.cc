// SPDX-License-Identifier: Apache-2.0
#include "runtime/loaded_plan.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <span>
#include <system_error>
#include <utility>

#include "base/formats/json.h"
#include "base/system/file.h"
#include "frontends/bindings.h"
#include "frontends/onnx.h"
#include "ir/autodiff/training_arguments.h"
#include "ir/graph/open_sizes.h"
#include "parallel/plan/plan_file.h"
#include "rules/tensors/constant_folding.h"

namespace egret::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostPlanBytes = std::int64_t{1} << 30;
constexpr std::int64_t kMostModelBytes = std::int64_t{1} << 31;  // protobuf's own limit

// Tries the path beside the plan, the path as it is, and the file's name beside the plan, so that a
// plan and its model can move together.
std::string find_model(const fs::path& model, const std::string& plan) {
  if (model == "-") return "-";
  const fs::path folder = plan == "-" ? fs::path() : fs::path(plan).parent_path();
  std::error_code ignored;  // what cannot be looked at is not there
  for (const fs::path& candidate : {folder / model, model, folder / model.filename()}) {
    if (fs::exists(candidate, ignored)) return candidate.string();
  }
  return (folder / model).string();
}

base::Result<frontends::ImportedModel> import_model(const std::string& file,
                                                    const std::vector<std::string>& bind,
                                                    const ReadFile& read) {
  frontends::ImportOptions options;
  EGRET_ASSIGN_OR_RETURN(options.bind, frontends::parse_bindings(bind));
  if (file != "-") return frontends::import_onnx(file, options);
  EGRET_ASSIGN_OR_RETURN(const std::string bytes, read(file, kMostModelBytes));
  return frontends::import_onnx_bytes(std::as_bytes(std::span(bytes)), "", options,
                                      "standard input");
}

// The model that the plan was made for, and no other.
base::Result<frontends::ImportedModel> model_of(const std::string& path,
                                                const parallel::PlanOrigin& origin,
                                                const ReadFile& read, const std::string& given) {
  const std::string file = given.empty() ? find_model(origin.model, path) : given;
  auto model = import_model(file, origin.bind, read);
  if (!model.ok()) return model.status().at("the model of plan " + path);
  if (!ir::open_sizes(model->graph).empty()) {
    return base::bad_input("the plan does not bind these sizes of the model: " +
                           ir::open_inputs(model->graph))
        .at(path);
  }
  const std::string hash = parallel::model_hash(model->graph);
  if (hash == origin.model_hash) return model;
  return base::bad_input("the plan was made for a model with the hash " + origin.model_hash +
                         ", and " + file + " has " + hash +
                         ". The model has changed; run `egret plan` again")
      .at(path);
}

base::Result<std::optional<ir::TrainingGraph>> training_of(const std::string& path,
                                                           const parallel::PlanOrigin& origin,
                                                           const ir::Graph& model) {
  if (!origin.training) return std::optional<ir::TrainingGraph>();
  const auto arguments = ir::read_training(*origin.training);
  if (!arguments.ok()) return arguments.status().at(path);
  EGRET_ASSIGN_OR_RETURN(ir::TrainingGraph step, ir::training_step(model, *arguments, path));
  return std::optional(std::move(step));
}

std::string names_of(const auto& outputs) {
  std::string names;
  for (const auto& output : outputs) names += (names.empty() ? "'" : ", '") + output.name + "'";
  return names;
}

// Outputs are known by place when a step runs, and by name when they are saved.
base::Status check_outputs(const parallel::PlacedGraph& placed, const ir::Graph& model) {
  if (std::ranges::equal(placed.outputs, model.outputs(), {}, &parallel::PlacedGraph::Output::name,
                         &ir::Graph::Output::name))
    return base::ok();
  return base::mismatch("the outputs of the plan are " + names_of(placed.outputs) +
                        ", and those of the model " + names_of(model.outputs()));
}

// Each node that reads a parameter or a state, and no other, takes its next value in the next step.
base::Status check_carried(const parallel::PlacedGraph& placed,
                           const std::optional<ir::TrainingGraph>& training) {
  std::map<std::string, std::string> expected;  // outputs by input
  if (training) {
    const ir::Graph& step = training->graph;
    for (std::size_t i = 0; i < training->initial.size(); ++i) {
      const ir::NodeId input = step.inputs()[training->model_inputs + 1 + i];
      expected[step.node(input).name] = step.outputs()[1 + i].name;
    }
  }
  std::map<std::size_t, std::string> carried;  // outputs by node
  for (const auto& [node, output] : placed.carried) {
    const std::string& from = placed.outputs[output].name;
    if (carried.emplace(node, from).second) continue;
    return base::mismatch("outputs '" + carried[node] + "' and '" + from +
                          "' are carried to one input of the next step");
  }
  for (std::size_t i = 0; i < placed.nodes.size(); ++i) {
    const parallel::PlacedNode& node = placed.nodes[i];
    if (node.kind != parallel::PlacedNode::Kind::kInput) continue;
    const auto found = carried.find(i);
    const auto next = expected.find(node.name);
    const std::string is = found == carried.end() ? "nothing" : "'" + found->second + "'";
    const std::string should = next == expected.end() ? "nothing" : "'" + next->second + "'";
    if (is == should) continue;
    return base::mismatch("the next step's input '" + node.name + "' takes " + is +
                          " of this step, and should take " + should);
  }
  return base::ok();
}

}  // namespace

base::Result<PlanFile> read_plan_file(const std::string& path, const ReadFile& given,
                                      const std::string& model_path) {
  const ReadFile read = given ? given : [](const std::string& file, std::int64_t limit) {
    return base::read_file(file, limit);
  };
  EGRET_ASSIGN_OR_RETURN(const std::string text, read(path, kMostPlanBytes));
  auto json = base::Json::parse(text);
  if (!json.ok()) return json.status().at(path);
  const auto origin = parallel::read_origin(*json);
  if (!origin.ok()) return origin.status().at(path);
  EGRET_ASSIGN_OR_RETURN(frontends::ImportedModel model, model_of(path, *origin, read, model_path));
  PlanFile plan;
  plan.json = *std::move(json);
  plan.notes = std::move(model.notes);
  EGRET_ASSIGN_OR_RETURN(plan.training, training_of(path, *origin, model.graph));
  EGRET_ASSIGN_OR_RETURN(plan.model,
                         rules::fold_constants(plan.training ? plan.training->graph : model.graph));
  return plan;
}

// The plan names weights by the hash of their content; the data come from the model.
base::Result<parallel::PlacedGraph> program_of(const PlanFile& plan, const std::string& path) {
  std::map<std::string, const ir::Tensor*> weights;
  for (const ir::Node& node : plan.model.nodes()) {
    if (node.kind == ir::NodeKind::kConstant)
      weights[node.data.content_hash().to_hex()] = &node.data;
  }
  auto placed =
      parallel::read_program(plan.json, [&](const std::string& hash) -> const ir::Tensor* {
        const auto found = weights.find(hash);
        return found == weights.end() ? nullptr : found->second;
      });
  if (!placed.ok()) return placed.status().at(path);
  EGRET_RETURN_IF_ERROR(check_outputs(*placed, plan.model).at(path));
  EGRET_RETURN_IF_ERROR(check_carried(*placed, plan.training).at(path));
  return placed;
}

base::Result<LoadedPlan> load_plan(const std::string& path, const ReadFile& read) {
  EGRET_ASSIGN_OR_RETURN(PlanFile plan, read_plan_file(path, read));
  LoadedPlan loaded;
  EGRET_ASSIGN_OR_RETURN(loaded.placed, program_of(plan, path));
  loaded.model = std::move(plan.model);
  loaded.training = std::move(plan.training);
  loaded.notes = std::move(plan.notes);
  return loaded;
}

}  // namespace egret::runtime
