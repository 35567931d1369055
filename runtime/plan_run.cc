// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan_run.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "backends/named_backend.h"
#include "base/median.h"
#include "base/timer.h"
#include "runtime/ranks/constant_part.h"

namespace egret::runtime {
namespace {

// Converts to the declared type: the interpreter keeps reals in f64.
ir::Tensor as_declared(const ir::Tensor& tensor, const ir::TensorType& type) {
  if (tensor.dtype() == type.dtype) return tensor;
  ir::Tensor result(type);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) result.set_f64(i, tensor.f64_at(i));
  return result;
}

// Ranks share the machine, so each uses one thread.
backends::CompileOptions plan_options(const RunOptions& options) {
  return {.threads = 1, .precision = options.precision};
}

}  // namespace

base::Status check_backend(const RunOptions& options) {
  EGRET_ASSIGN_OR_RETURN(const backends::Backend* found, backends::backend_called(options.backend));
  EGRET_RETURN_IF_ERROR(found->takes_precision(options.precision));
  return found->availability();
}

base::Result<PlanRun> PlanRun::start(LoadedPlan plan, const Ranks& ranks,
                                     const RunOptions& options) {
  EGRET_RETURN_IF_ERROR(check_backend(options));
  PlanRun run(std::move(plan), ranks);
  if (!ranks.is_distributed()) return run;
  const parallel::Mesh& mesh = run.plan_.placed.mesh;
  if (ranks.size() != mesh.ranks()) {
    return base::usage_error("the plan is for " + std::to_string(mesh.ranks()) + " ranks (" +
                             to_string(mesh) + "), but mpirun started " +
                             std::to_string(ranks.size()));
  }
  const backends::Backend& backend = *backends::find_backend(options.backend);
  EGRET_RETURN_IF_ERROR(run.write_program(backend, options));
  EGRET_RETURN_IF_ERROR(run.compile(backend, options));
  if (!options.storage_folder.empty()) {
    EGRET_ASSIGN_OR_RETURN(run.storage_,
                           ValueStorage::in(options.storage_folder, run.plan_.placed));
  }
  return run;
}

// Whether values stay on the GPUs and NCCL exchanges them. False: MPI does, through the host.
base::Result<bool> PlanRun::compile_for_devices(const backends::Backend& backend,
                                                const RunOptions& options) {
  if (backend.name() != "cuda" || options.exchange == ExchangeWay::kMpi) return false;
  const auto through_mpi = [&](const std::string& why) {
    if (reports() && options.warn) options.warn("ranks exchange values through MPI: " + why);
    return false;
  };
  if (!program_.rings.empty()) {
    if (options.exchange == ExchangeWay::kNccl)
      return base::unsupported("plans with a ring need --exchange mpi");
    return through_mpi("the plan has a ring");
  }
  const parallel::PlacedGraph& placed = plan_.placed;
  if (placed.storage_bytes_per_second > 0) {
    if (options.exchange == ExchangeWay::kNccl)
      return base::unsupported("plans with copies to storage need --exchange mpi");
    return through_mpi("the plan copies values to storage");
  }
  const nccl::Library& nccl = nccl::system_library();
  EGRET_ASSIGN_OR_RETURN(auto device,
                         backends::cuda::open_own_device(backends::cuda::system_libraries()));
  const base::Status together = all_have_nccl(nccl, *device, placed.mesh, ranks_->exchange());
  if (together.code() == base::StatusCode::kRankFailed || options.exchange == ExchangeWay::kNccl)
    EGRET_RETURN_IF_ERROR(together);
  if (!together.ok()) return through_mpi(together.message());
  const double limit_s = ranks_->limit_exchange_s();
  EGRET_ASSIGN_OR_RETURN(
      AxisCommunicators communicators,
      join_axes(nccl, placed.mesh, static_cast<int>(ranks_->rank()), ranks_->exchange(), limit_s));
  EGRET_ASSIGN_OR_RETURN(device_run_,
                         DeviceRun::make(placed, program_, backend, std::move(device),
                                         std::move(communicators), options.precision, limit_s));
  return true;
}

// Values that follow from constants are computed once here, and each rank keeps its blocks of them.
base::Status PlanRun::write_program(const backends::Backend& backend, const RunOptions& options) {
  const auto run_once =
      [&](const ir::Graph& graph,
          std::span<const ir::Tensor> inputs) -> base::Result<std::vector<ir::Tensor>> {
    EGRET_ASSIGN_OR_RETURN(const auto plan, backend.compile(graph, plan_options(options)));
    return plan->run(inputs);
  };
  EGRET_ASSIGN_OR_RETURN(const HeldBlocks known, exchange_constants(plan_.placed, ranks_->rank(),
                                                                    run_once, ranks_->exchange()));
  EGRET_ASSIGN_OR_RETURN(program_, rank_program(plan_.placed, ranks_->rank(), known));
  return base::ok();
}

// A plan for each segment, unless values stay on the GPUs. A segment without outputs has none.
base::Status PlanRun::compile(const backends::Backend& backend, const RunOptions& options) {
  EGRET_ASSIGN_OR_RETURN(const bool on_devices, compile_for_devices(backend, options));
  if (on_devices) return base::ok();
  for (const ir::Graph* graph : program_.graphs()) {
    plans_.emplace_back();
    if (graph->outputs().empty()) continue;
    EGRET_ASSIGN_OR_RETURN(plans_.back(), backend.compile(*graph, plan_options(options)));
  }
  return base::ok();
}

// The plan's inputs by name: its nodes may come in another order than the model's inputs.
std::vector<ir::Tensor> PlanRun::in_order_of_nodes(std::span<const ir::Tensor> inputs) const {
  std::vector<ir::Tensor> own;
  for (const parallel::PlacedNode& node : plan_.placed.nodes) {
    if (node.kind != parallel::PlacedNode::Kind::kInput) continue;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (plan_.model.node(plan_.model.inputs()[i]).name == node.name) own.push_back(inputs[i]);
    }
  }
  return own;
}

base::Result<std::vector<ir::Tensor>> PlanRun::interpret(std::span<const ir::Tensor> own) const {
  EGRET_ASSIGN_OR_RETURN(std::vector<ir::Tensor> outputs, parallel::interpret(plan_.placed, own));
  for (std::size_t i = 0; i < outputs.size(); ++i)
    outputs[i] = as_declared(outputs[i], plan_.model.node(plan_.model.outputs()[i].node).type);
  return outputs;
}

base::Result<std::vector<ir::Tensor>> PlanRun::run_here(std::span<const ir::Tensor> held,
                                                        bool ends_on_stop) {
  if (device_run_ != nullptr) return device_run_->run(held, ends_on_stop);
  const auto run_stage = [this](std::size_t graph, std::span<const ir::Tensor> values) {
    return plans_[graph]->run(values);
  };
  return run_rank(plan_.placed, program_, held, run_stage, ranks_->exchange(ends_on_stop),
                  storage_);
}

base::Result<std::vector<ir::Tensor>> PlanRun::run(std::span<const ir::Tensor> inputs) {
  const std::vector<ir::Tensor> own = in_order_of_nodes(inputs);
  if (!ranks_->is_distributed()) return interpret(own);
  EGRET_ASSIGN_OR_RETURN(const auto held, held_inputs(plan_.placed, program_.rank, own));
  return run_here(held, true);
}

base::Status PlanRun::begin(std::span<const ir::Tensor> inputs) {
  inputs_ = in_order_of_nodes(inputs);
  if (!ranks_->is_distributed()) return base::ok();
  EGRET_ASSIGN_OR_RETURN(inputs_, held_inputs(plan_.placed, program_.rank, inputs_));
  return base::ok();
}

base::Result<double> PlanRun::step() {
  EGRET_ASSIGN_OR_RETURN(outputs_,
                         !ranks_->is_distributed() ? interpret(inputs_) : run_here(inputs_, false));
  // A carried value (a parameter or a state) is the input of the next step. The number of inputs
  // before its node is its position among the inputs.
  for (const auto& [node, output] : plan_.placed.carried) {
    const auto before = std::span(plan_.placed.nodes).first(node);
    const auto input =
        std::ranges::count(before, parallel::PlacedNode::Kind::kInput, &parallel::PlacedNode::kind);
    inputs_[static_cast<std::size_t>(input)] = outputs_[output];
  }
  EGRET_ASSIGN_OR_RETURN(stopped_, ranks_->stop_agreed());
  return outputs_.front().f64_at(0);
}

base::Result<std::vector<ir::Tensor>> PlanRun::end() {
  if (!ranks_->is_distributed()) return outputs_;
  return gathered_outputs(plan_.placed, program_.rank, outputs_, ranks_->exchange(false));
}

// Pieces run in the order of the step, so that they find the caches as there. Ranks meet before
// each collective: how long they wait for each other is the time of segments.
base::Result<PlanPrediction> PlanRun::predict(int repetitions) {
  if (!ranks_->is_distributed())
    return base::unsupported("steps of a plan are predicted under mpirun alone");
  const bool copies = plan_.placed.storage_bytes_per_second > 0;
  if (device_run_ != nullptr || copies || !program_.rings.empty()) {
    return base::unsupported(
        "steps of plans with rings or copies to storage, or whose values stay on GPUs, are not "
        "predicted; `egret "
        "simulate` prices them");
  }
  const Exchange exchange = ranks_->exchange(false);
  std::vector<std::int64_t> all(static_cast<std::size_t>(ranks_->size()));
  std::iota(all.begin(), all.end(), 0);
  struct Piece {
    bool computes;
    std::function<base::Status()> run;
    std::vector<double> seconds{};
  };
  std::vector<Piece> pieces;
  for (std::size_t s = 0; s < program_.stages.size(); ++s) {
    if (plans_[s] != nullptr) {
      std::vector<ir::Tensor> zeros;
      for (const ir::TensorType& type : plans_[s]->input_types()) zeros.emplace_back(type);
      pieces.push_back(
          {true, [plan = plans_[s].get(), zeros] { return plan->run(zeros).status(); }});
    }
    for (const std::size_t node : program_.stages[s].collectives) {
      const parallel::PlacedNode& placed = plan_.placed.nodes[node];
      const ir::Tensor zeros(plan_.placed.nodes[placed.inputs.front()].type);
      pieces.push_back({false, [this, &placed, &exchange, zeros] {
                          return run_collective(placed.collective, plan_.placed.mesh, program_.rank,
                                                zeros, exchange)
                              .status();
                        }});
    }
  }
  for (int i = 0; i <= repetitions; ++i) {
    for (Piece& piece : pieces) {
      if (!piece.computes)
        EGRET_RETURN_IF_ERROR(
            exchange(all, std::vector<std::vector<std::byte>>(all.size())).status());
      const base::Stopwatch watch;
      EGRET_RETURN_IF_ERROR(piece.run());
      if (i > 0 || repetitions == 0) piece.seconds.push_back(watch.seconds());
    }
  }
  std::vector<double> own;
  for (const Piece& piece : pieces) own.push_back(base::median(piece.seconds));
  std::vector<std::byte> bytes(own.size() * sizeof(double));
  if (!own.empty()) std::memcpy(bytes.data(), own.data(), bytes.size());
  EGRET_ASSIGN_OR_RETURN(const auto others,
                         exchange(all, std::vector<std::vector<std::byte>>(all.size(), bytes)));
  PlanPrediction result;
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    double longest = 0, sum = 0;
    for (const std::vector<std::byte>& from : others) {
      double one = 0;
      if (from.size() != bytes.size()) return base::internal_error("ranks differ in their plans");
      std::memcpy(&one, from.data() + k * sizeof one, sizeof one);
      longest = std::max(longest, one);
      sum += one;
    }
    // Ranks leave their meeting up to a latency apart: who comes first waits for the others, who
    // find its message on the way.
    if (pieces[k].computes) {
      result.compute_s += longest;
    } else {
      result.exchange_s += sum / static_cast<double>(others.size());
    }
  }
  return result;
}

}  // namespace egret::runtime
