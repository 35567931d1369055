// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan_run.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "parallel/plan/plan_file.h"
#include "rules/tensors/constant_folding.h"
#include "runtime/ranks/constant_part.h"
#include "tools/arguments/training_arguments.h"

namespace egret::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostPlanBytes = std::int64_t{1} << 30;

std::string find_model(const fs::path& model, const std::string& plan) {
  if (model == "-") return "-";
  const fs::path folder = plan == "-" ? fs::path() : fs::path(plan).parent_path();
  std::error_code ignored;  // what cannot be looked at is not there
  for (const fs::path& candidate : {folder / model, model, folder / model.filename()}) {
    if (fs::exists(candidate, ignored)) return candidate.string();
  }
  return (folder / model).string();
}

// The interpreter keeps reals in f64.
ir::Tensor as_declared(const ir::Tensor& tensor, const ir::TensorType& type) {
  if (tensor.dtype() == type.dtype) return tensor;
  ir::Tensor result(type);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) result.set_f64(i, tensor.f64_at(i));
  return result;
}

// Ranks share the machine: a thread each.
backends::PlanOptions plan_options(const BackendOptions& arguments) {
  return {.threads = 1, .precision = precision_of(arguments)};
}

}  // namespace

bool is_plan_file(const std::string& path) { return path.ends_with(".json"); }

std::string model_path_in_plan(const std::string& model, const std::string& plan) {
  if (model == "-" || plan == "-" || plan.empty() || fs::path(model).is_absolute()) return model;
  std::error_code problem;
  const fs::path folder = fs::absolute(plan, problem).parent_path();
  // Links in folders are followed, as ".." does; the model itself may be one.
  const fs::path way = fs::relative(fs::absolute(model, problem).parent_path(), folder, problem);
  if (way.empty()) return model;
  return (way / fs::path(model).filename()).lexically_normal().string();
}

const base::OptionTable<PlanRunOptions>& PlanRunOptions::table() {
  using P = PlanRunOptions;
  static const base::OptionTable<P> rows{
      "plan-run",
      {{"limit-exchange", &P::limit_exchange,
        "Of a plan: how long a rank waits for others before it ends the run", base::seconds()},
       {"exchange", &P::exchange,
        "Of a plan on GPUs: how ranks exchange values; auto is nccl where each rank has a GPU of "
        "its own, else mpi",
        base::one_of({"auto", "nccl", "mpi"})}}};
  return rows;
}

base::Result<PlanRun> PlanRun::of(const std::string& path, const BackendOptions& backend,
                                  const PlanRunOptions& options, Console& console) {
  if (backend.limit_arena > 0)
    return base::usage_error(
        "--limit-arena is for models, not for plans: egret plan has "
        "--limit-memory");
  PlanRun run;
  const backends::Backend* found = backends::find_backend(backend.backend);
  if (found == nullptr) return base::usage_error("no backend is called '" + backend.backend + "'");
  EGRET_RETURN_IF_ERROR(found->takes_precision(precision_of(backend)));
  EGRET_RETURN_IF_ERROR(found->availability());
  if (MpiWorld::is_distributed()) {
    const auto end = [&console](const std::string& message) {
      console.error(message);
      std::_Exit(base::exit_code(base::StatusCode::kRankFailed));
    };
    EGRET_ASSIGN_OR_RETURN(run.world_, MpiWorld::join(options.limit_exchange, end));
  }
  const base::Status status = run.load(path, backend, options, console);
  if (!status.ok()) return run.failed(status, console);
  return run;
}

base::Status PlanRun::load(const std::string& path, const BackendOptions& backend,
                           const PlanRunOptions& options, Console& console) {
  EGRET_ASSIGN_OR_RETURN(const std::string text, read_input(path, kMostPlanBytes));
  auto json = base::Json::parse(text);
  if (!json.ok()) return json.status().at(path);
  const auto origin = parallel::read_origin(*json);
  if (!origin.ok()) return origin.status().at(path);
  EGRET_RETURN_IF_ERROR(load_model(path, *origin, console));
  std::map<std::string, const ir::Tensor*> weights;
  for (const ir::Node& node : model_.nodes()) {
    if (node.kind == ir::NodeKind::kConstant)
      weights[node.data.content_hash().to_hex()] = &node.data;
  }
  const auto find = [&](const std::string& hash) -> const ir::Tensor* {
    const auto found = weights.find(hash);
    return found == weights.end() ? nullptr : found->second;
  };
  auto placed = parallel::read_program(*json, find);
  if (!placed.ok()) return placed.status().at(path);
  placed_ = *std::move(placed);
  if (world_ == nullptr) return base::ok();
  if (world_->size() != placed_.mesh.ranks()) {
    return base::usage_error("the plan is for " + std::to_string(placed_.mesh.ranks()) +
                             " ranks (" + to_string(placed_.mesh) + "), mpirun started " +
                             std::to_string(world_->size()));
  }
  EGRET_RETURN_IF_ERROR(write_program(backend));
  return compile(backend, options, console);
}

base::Status PlanRun::load_model(const std::string& path, const parallel::PlanOrigin& origin,
                                 Console& console) {
  const std::string file = find_model(origin.model, path);
  const auto model = read_concrete_model(file, {.bind = origin.bind}, console);
  if (!model.ok()) return model.status().at("the model of plan " + path);
  const std::string hash = parallel::model_hash(model->graph);
  if (hash != origin.model_hash) {
    return base::bad_input("the plan was made for a model with the hash " + origin.model_hash +
                           ", and " + file + " has " + hash +
                           ": it is another model; plan it again")
        .at(path);
  }
  if (origin.training) {
    const auto arguments = read_training(*origin.training);
    if (!arguments.ok()) return arguments.status().at(path);
    EGRET_ASSIGN_OR_RETURN(training_, training_step(model->graph, *arguments, path));
  }
  EGRET_ASSIGN_OR_RETURN(model_,
                         rules::fold_constants(training_ ? training_->graph : model->graph));
  return base::ok();
}

base::Result<bool> PlanRun::compile_for_devices(const backends::Backend& backend,
                                                const BackendOptions& arguments,
                                                const PlanRunOptions& options, Console& console) {
  if (backend.name() != "cuda" || options.exchange == "mpi") return false;
  if (!program_.rings.empty()) {
    if (options.exchange == "nccl")
      return base::unsupported("a ring passes blocks through MPI only: --exchange mpi");
    if (reports()) console.warning("ranks exchange values through MPI: the plan has a ring");
    return false;
  }
  const nccl::Library& nccl = nccl::system_library();
  EGRET_ASSIGN_OR_RETURN(auto device,
                         backends::cuda::open_own_device(backends::cuda::system_libraries()));
  const base::Status together = all_have_nccl(nccl, *device, placed_.mesh, exchange());
  if (together.code() == base::StatusCode::kRankFailed || options.exchange == "nccl")
    EGRET_RETURN_IF_ERROR(together);
  if (!together.ok()) {
    if (reports()) console.warning("ranks exchange values through MPI: " + together.message());
    return false;
  }
  EGRET_ASSIGN_OR_RETURN(
      AxisCommunicators communicators,
      join_axes(nccl, placed_.mesh, world_->rank(), exchange(), options.limit_exchange));
  EGRET_ASSIGN_OR_RETURN(
      device_run_,
      DeviceRun::make(placed_, program_, backend, std::move(device), std::move(communicators),
                      precision_of(arguments), options.limit_exchange));
  return true;
}

base::Status PlanRun::write_program(const BackendOptions& backend) {
  const backends::Backend* found = backends::find_backend(backend.backend);
  const auto run_once =
      [&](const ir::Graph& graph,
          std::span<const ir::Tensor> inputs) -> base::Result<std::vector<ir::Tensor>> {
    EGRET_ASSIGN_OR_RETURN(const auto plan, found->compile(graph, plan_options(backend)));
    return plan->run(inputs);
  };
  EGRET_ASSIGN_OR_RETURN(
      const parallel::HeldBlocks known,
      parallel::exchange_constants(placed_, world_->rank(), run_once, exchange()));
  EGRET_ASSIGN_OR_RETURN(program_, rank_program(placed_, world_->rank(), known));
  return base::ok();
}

base::Status PlanRun::compile(const BackendOptions& backend, const PlanRunOptions& options,
                              Console& console) {
  const backends::Backend* found = backends::find_backend(backend.backend);
  EGRET_ASSIGN_OR_RETURN(const bool on_devices,
                         compile_for_devices(*found, backend, options, console));
  if (on_devices) return base::ok();
  for (const ir::Graph* graph : program_.graphs()) {
    plans_.emplace_back();
    if (graph->outputs().empty()) continue;
    EGRET_ASSIGN_OR_RETURN(plans_.back(), found->compile(*graph, plan_options(backend)));
  }
  return base::ok();
}

std::vector<ir::Tensor> PlanRun::in_order_of_nodes(std::span<const ir::Tensor> inputs) const {
  std::vector<ir::Tensor> own;
  for (const parallel::PlacedNode& node : placed_.nodes) {
    if (node.kind != parallel::PlacedNode::Kind::kInput) continue;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (model_.node(model_.inputs()[i]).name == node.name) own.push_back(inputs[i]);
    }
  }
  return own;
}

base::Result<std::vector<ir::Tensor>> PlanRun::interpret(std::span<const ir::Tensor> own) const {
  EGRET_ASSIGN_OR_RETURN(std::vector<ir::Tensor> outputs, parallel::interpret(placed_, own));
  for (std::size_t i = 0; i < outputs.size(); ++i)
    outputs[i] = as_declared(outputs[i], model_.node(model_.outputs()[i].node).type);
  return outputs;
}

parallel::Exchange PlanRun::exchange() const {
  return [this](std::span<const std::int64_t> group,
                std::span<const std::vector<std::byte>> outgoing) {
    return world_->exchange(group, outgoing);
  };
}

base::Result<std::vector<ir::Tensor>> PlanRun::run_here(std::span<const ir::Tensor> held) {
  if (device_run_ != nullptr) return device_run_->run(held);
  const auto run_stage = [this](std::size_t graph, std::span<const ir::Tensor> values) {
    return plans_[graph]->run(values);
  };
  return parallel::run_rank(placed_, program_, held, run_stage, exchange());
}

base::Result<std::vector<ir::Tensor>> PlanRun::run(std::span<const ir::Tensor> inputs) {
  const std::vector<ir::Tensor> own = in_order_of_nodes(inputs);
  if (world_ == nullptr) return interpret(own);
  EGRET_ASSIGN_OR_RETURN(const auto held, held_inputs(placed_, program_.rank, own));
  return run_here(held);
}

base::Status PlanRun::begin(std::span<const ir::Tensor> inputs) {
  inputs_ = in_order_of_nodes(inputs);
  if (world_ == nullptr) return base::ok();
  EGRET_ASSIGN_OR_RETURN(inputs_, held_inputs(placed_, program_.rank, inputs_));
  return base::ok();
}

base::Result<double> PlanRun::step() {
  EGRET_ASSIGN_OR_RETURN(outputs_, world_ == nullptr ? interpret(inputs_) : run_here(inputs_));
  for (const auto& [node, output] : placed_.carried) {
    const auto before = std::span(placed_.nodes).first(node);
    const auto input =
        std::ranges::count(before, parallel::PlacedNode::Kind::kInput, &parallel::PlacedNode::kind);
    inputs_[static_cast<std::size_t>(input)] = outputs_[output];
  }
  return outputs_.front().f64_at(0);
}

base::Result<std::vector<ir::Tensor>> PlanRun::end() {
  if (world_ == nullptr) return outputs_;
  return parallel::gathered_outputs(placed_, program_.rank, outputs_, exchange());
}

base::Status PlanRun::failed(base::Status status, Console& console) {
  if (world_ == nullptr || status.ok()) return status;
  console.error("rank " + std::to_string(world_->rank()) + ": " + status.message());
  (void)console.finish();
  world_->abort(base::exit_code(base::StatusCode::kRankFailed));
}

}  // namespace egret::runtime
