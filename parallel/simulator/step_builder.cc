// SPDX-License-Identifier: Apache-2.0
#include "parallel/simulator/step_builder.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/stop.h"
#include "parallel/transformer/experts.h"
#include "parallel/transformer/stage_transfer.h"
#include "parallel/transformer/training_memory.h"

namespace egret::parallel {
namespace {

std::uint32_t number(StepStream stream) { return static_cast<std::uint32_t>(stream); }

bool makes_weight_gradients(PassKind kind) {
  return kind == PassKind::kBackward || kind == PassKind::kWeights;
}

const KernelTime& time_of(const StagePiece& piece, PassKind kind) {
  switch (kind) {
    case PassKind::kForward: return piece.forward;
    case PassKind::kBackward: return piece.backward;
    case PassKind::kInputs: return piece.inputs;
    case PassKind::kWeights: return piece.weights;
  }
  return piece.forward;
}

StepTask task_of(const PipelinePass& pass, StepPart part) {
  return {part, static_cast<std::int32_t>(pass.micro_batch), static_cast<std::int32_t>(pass.stage),
          -1};
}

StepPart part_of(const PipelinePass& pass) {
  return pass.kind == PassKind::kForward ? StepPart::kForward : StepPart::kBackward;
}

}  // namespace

StepBuilder::StepBuilder(const System& system, const TrainingSetup& setup,
                         const StepOptions& options, const PipelineSchedule& schedule)
    : system_(system),
      setup_(setup),
      options_(options),
      schedule_(schedule),
      replicas_(options.each_replica ? setup.data : 1),
      zero_(options.zero_stage(setup)),
      places_(places(system, setup)),
      costs_(stage_costs(
          system, setup,
          zero_ == 3 || offloads_weights(options.offload) ||
              std::ranges::any_of(
                  places_, [&](const Place& place) { return exchanges_early(place.setup); }))),
      progress_(static_cast<std::size_t>(replicas_ * schedule.ranks)),
      exchanges_(progress_.size()) {
  if (offloads_activations(options.offload)) find_what_is_needed_soon();
}

std::vector<StepBuilder::Place> StepBuilder::places(const System& system,
                                                    const TrainingSetup& setup) {
  if (!setup.has_unlike_stages() && system.pools.size() < 2) return {{setup, system}};
  std::vector<Place> result;
  for (const StageDegrees& stage : setup.stages()) {
    result.push_back({setup.of_stage(stage), system.seen_by(stage.first_device, stage.devices())});
  }
  return result;
}

std::int64_t StepBuilder::copies(const TrainingSetup& setup) const {
  const std::int64_t directions = setup.schedule == PipelineKind::kDualPipe ? 2 : 1;
  return setup.data * setup.context * directions;
}

bool StepBuilder::has_copies(const TrainingSetup& setup) const {
  return copies(setup) > 1 ||
         (setup.experts > 0 && expert_data_group(setup, copies(setup)).size > 1);
}

bool StepBuilder::launches_cost(std::uint32_t device) const {
  const Accelerator& accelerator = place_of(device).system.accelerator;
  return !options_.recorded_launches &&
         (accelerator.host_seconds_per_kernel > 0 || accelerator.host_seconds_per_collective > 0);
}

base::Result<StepProgram> StepBuilder::build() {
  for (std::int64_t replica = 0; replica < replicas_; ++replica) {
    for (std::int64_t rank = 0; rank < schedule_.ranks; ++rank) {
      StepDevice& device = program_.devices.emplace_back();
      device.replica = replica;
      device.rank = rank;
    }
  }
  add_links();
  for (std::uint32_t device = 0; device < progress_.size(); ++device) {
    EGRET_RETURN_IF_ERROR(add_passes(device));
    set_fixed_memory(device);
  }
  deliver_messages();
  join_replicas();
  add_end_of_step();
  set_link_rates();
  return std::move(program_);
}

TaskId StepBuilder::add(SimulatedTask task, StepTask what) {
  program_.tasks.push_back(what);
  return program_.graph.add(std::move(task));
}

void StepBuilder::change_memory(std::uint32_t device, TaskId task, bool at_start, MemoryKind kind,
                                double bytes) {
  if (bytes != 0) program_.devices[device].memory.push_back({task, at_start, kind, bytes});
}

void StepBuilder::change_host_memory(std::uint32_t device, TaskId task, bool at_start,
                                     double bytes) {
  if (bytes != 0 && !uses_disks(options_.offload)) {
    program_.devices[device].host_memory.push_back(
        {task, at_start, MemoryKind::kActivations, bytes});
  }
}

// Weights, gradients and optimizer state.
void StepBuilder::set_fixed_memory(std::uint32_t number_of_device) {
  StepDevice& device = program_.devices[number_of_device];
  for (const auto& [stage, left] : progress_[number_of_device].backward_left) {
    const StageCosts& costs = costs_[static_cast<std::size_t>(stage)];
    device.parameters += costs.parameters;
    device.expert_parameters += costs.expert_parameters;
  }
  const TrainingSetup& setup = setup_of(number_of_device);
  TrainingSetup state_setup = setup;
  state_setup.distributed_optimizer = zero_ >= 1;
  const StateBytes state = state_bytes(state_setup, device.parameters, device.expert_parameters);
  const double divided =
      device.parameters > 0
          ? divided_parameters(setup, device.parameters, device.expert_parameters, copies(setup)) /
                device.parameters
          : 1;
  // state_bytes() does not know of DualPipe's two copies.
  const double directions =
      static_cast<double>(copies(setup)) / static_cast<double>(setup.data * setup.context);
  const auto at = [&](MemoryKind kind) -> double& {
    return device.fixed_bytes[static_cast<std::size_t>(kind)];
  };
  const double weights = state.weights * (zero_ >= 3 ? divided : 1);
  const double gradients = state.gradients * (zero_ >= 2 ? divided : 1);
  const double optimizer = state.optimizer / (zero_ >= 1 ? directions : 1);
  const bool elsewhere = offloads_weights(options_.offload);
  at(MemoryKind::kWeights) = elsewhere ? 0 : weights;
  if (options_.forward_only) return;
  at(MemoryKind::kGradients) = elsewhere ? 0 : gradients;
  at(MemoryKind::kOptimizer) = offloads_optimizer(options_.offload) ? 0 : optimizer;
  if (options_.offload == Offload::kOptimizer) device.fixed_host_bytes = optimizer;
  if (options_.offload == Offload::kWeights)
    device.fixed_host_bytes = weights + gradients + optimizer;
}

base::Status StepBuilder::add_passes(std::uint32_t device) {
  Progress& progress = progress_[device];
  const auto rank = static_cast<std::size_t>(program_.devices[device].rank);
  for (const PipelinePass& pass : schedule_.passes[rank])
    progress.backward_left[pass.stage] += makes_weight_gradients(pass.kind) ? 1 : 0;
  for (const PipelinePass& pass : schedule_.passes[rank]) {
    if (base::stop_requested()) return base::limit_hit("interrupted; the simulation is incomplete");
    if (options_.forward_only && pass.kind != PassKind::kForward) continue;
    if (setup_.frozen && pass.kind == PassKind::kWeights) continue;
    add_pass(device, pass);
  }
  const TrainingSetup& setup = setup_of(device);
  if (exchanges_gradients(setup) && !exchanges_early(setup)) exchange_stages(device);
  return base::ok();
}

// Activations that the backward pass reads within two passes have no time to leave and return as a
// whole, as those of the last rank under 1F1B. They travel layer by layer.
void StepBuilder::find_what_is_needed_soon() {
  constexpr std::size_t kSoon = 2;
  std::set<std::int64_t> stages;
  for (const std::vector<PipelinePass>& passes : schedule_.passes) {
    std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> made;
    for (std::size_t number = 0; number < passes.size(); ++number) {
      const PipelinePass& pass = passes[number];
      const std::pair key(pass.stage, pass.micro_batch);
      if (pass.kind == PassKind::kForward) {
        made[key] = number;
      } else if (pass.kind != PassKind::kWeights && number - made.at(key) <= kSoon) {
        needed_soon_.insert(key);
        stages.insert(pass.stage);
      }
    }
  }
  if (stages.empty()) return;
  const std::vector<StageCosts> by_layer = stage_costs(system_, setup_, /*by_layer=*/true);
  for (const std::int64_t stage : stages)
    costs_[static_cast<std::size_t>(stage)] = by_layer[static_cast<std::size_t>(stage)];
}

// A pass computes its pieces one after another. The first waits for a message and, where sends
// block, for this device's last one.
void StepBuilder::add_pass(std::uint32_t device, const PipelinePass& pass) {
  Progress& progress = progress_[device];
  const StageCosts& costs = costs_[static_cast<std::size_t>(pass.stage)];
  const StepTask what = task_of(pass, part_of(pass));
  const bool forward = pass.kind == PassKind::kForward;
  std::vector<TaskId> after;
  if (!setup_.overlap_transfers && progress.sent.valid()) after.push_back(progress.sent);
  if (offloads_activations(options_.offload) && !forward && pass.kind != PassKind::kWeights &&
      !offloads_pieces(pass))
    after.push_back(fetch_activations(device, pass));
  if (makes_weight_gradients(pass.kind)) --progress.backward_left[pass.stage];
  Computed first, last;
  for (std::size_t k = 0; k < costs.pieces.size(); ++k) {
    const std::size_t index = forward ? k : costs.pieces.size() - 1 - k;
    const StagePiece& piece = costs.pieces[index];
    Gathering gathered;
    if (brings_weights(device) && pass.kind != PassKind::kWeights) {
      gathered = bring_weights(device, piece, pass);
      after.insert(after.end(), gathered.ends.begin(), gathered.ends.end());
    }
    if (offloads_weights(options_.offload) && makes_weight_gradients(pass.kind))
      wait_for_gradients(device, after);
    if (offloads_pieces(pass) && !forward && pass.kind != PassKind::kWeights) {
      if (const auto fetched = fetch_piece(device, pass, index)) after.push_back(*fetched);
    }
    if (progress.blocking.valid()) after.push_back(std::exchange(progress.blocking, {}));
    last = add_compute(device, time_of(piece, pass.kind), std::move(after), what);
    after.clear();
    if (k == 0) first = last;
    if (offloads_pieces(pass)) keep_piece(device, pass, index, last.first, last.last);
    if (!gathered.ends.empty()) {
      const double bytes = setup_.weight_bytes() * gathered.parameters;
      change_memory(device, gathered.first, true, MemoryKind::kWeights, bytes);
      change_memory(device, last.last, false, MemoryKind::kWeights, -bytes);
    }
    progress.computed.push_back(last.last);
    for (std::size_t kind = 0; kind < kKernelKindNames.size(); ++kind)
      program_.devices[device].kernel_s[kind] += time_of(piece, pass.kind).by_kind_s[kind];
    if (!makes_weight_gradients(pass.kind)) continue;
    const std::size_t exchanged = progress.exchanged.size();
    if (exchanges_early(setup_of(device))) exchange_piece(device, pass, index, last.last);
    if (offloads_weights(options_.offload))
      take_gradients_away(device, piece, pass, last, exchanged);
  }
  progress.passes.push_back(last.last);
  receive(device, pass, first);
  keep_activations(device, pass, first.first, last.last);
  send(device, pass, last.last);
}

// The host issues on its own lane; the device starts when the issue begins, and cannot end before
// the last kernel after its issue.
StepBuilder::Computed StepBuilder::add_compute(std::uint32_t device, const KernelTime& time,
                                               std::vector<TaskId> after, StepTask what) {
  Progress& progress = progress_[device];
  SimulatedTask compute{.device = device,
                        .stream = number(StepStream::kCompute),
                        .effect = TaskEffect::kComputes,
                        .work = {.seconds = time.device_s},
                        .after = std::move(after)};
  Computed result;
  if (!launches_cost(device) || time.host_s <= 0) {
    result.first = result.last = add(std::move(compute), what);
    return result;
  }
  const StepTask issue{StepPart::kHost, what.micro_batch, what.stage, -1};
  SimulatedTask host{
      .device = device, .stream = number(StepStream::kHost), .work = {.seconds = time.host_s}};
  // Blocking transfers hold the host too.
  if (!setup_.overlap_transfers && progress.sent.valid()) host.after = {progress.sent};
  if (progress.issued.valid()) compute.after.push_back(progress.issued);
  result.first = add(std::move(compute), what);
  result.issue = progress.issued = add(std::move(host), issue);
  const TaskId launched = add({.device = device,
                               .stream = number(StepStream::kLaunch),
                               .work = {.seconds = std::max(0.0, time.tail_s - time.host_s)},
                               .after = {result.issue}},
                              issue);
  result.last = add({.device = device, .stream = number(StepStream::kCompute), .after = {launched}},
                    {StepPart::kJoin, what.micro_batch, what.stage, -1});
  return result;
}

void StepBuilder::receive(std::uint32_t device, const PipelinePass& pass,
                          const Computed& computed) {
  const bool forward = pass.kind == PassKind::kForward;
  if (pass.kind == PassKind::kWeights) return;
  if (pass.stage == (forward ? 0 : schedule_.stages - 1)) return;
  const MessageKey key{forward ? kActivation : kGradient, program_.devices[device].replica,
                       pass.micro_batch, pass.stage + (forward ? -1 : 1)};
  receivers_.emplace_back(computed.first, key);
  if (!setup_.overlap_transfers && computed.issue.valid())
    receivers_.emplace_back(computed.issue, key);
}

void StepBuilder::send(std::uint32_t device, const PipelinePass& pass, TaskId after) {
  const bool forward = pass.kind == PassKind::kForward;
  if (pass.kind == PassKind::kWeights) return;
  if (pass.stage == (forward ? schedule_.stages - 1 : 0)) return;
  const std::int64_t replica = program_.devices[device].replica;
  const std::int64_t to = pass.stage + (forward ? 1 : -1);
  const std::int64_t other = schedule_.rank_of(to, pass.micro_batch);
  const MessageKey key{forward ? kActivation : kGradient, replica, pass.micro_batch, pass.stage};
  const std::int64_t rank = program_.devices[device].rank;
  if (other == rank) {
    arrivals_[key] = after;
    return;
  }
  const CollectiveTime& time = transfer_between(rank, other);
  StepTask what = task_of(pass, StepPart::kTransfer);
  what.receiver = static_cast<std::int32_t>(device_of(replica, other));
  progress_[device].sent = arrivals_[key] = add_flow(
      device, forward ? StepStream::kSendForward : StepStream::kSendBackward, time, {after}, what);
}

const CollectiveTime& StepBuilder::transfer_between(std::int64_t from, std::int64_t to) {
  const auto [found, is_new] = transfers_.try_emplace({from, to});
  if (is_new) {
    std::int64_t before = 0;
    for (std::int64_t stage = 0; stage < std::max(from, to); ++stage)
      before += costs_[static_cast<std::size_t>(stage)].layers;
    found->second = stage_transfer(system_, setup_, from, to, before);
  }
  return found->second;
}

void StepBuilder::deliver_messages() {
  for (const auto& [task, key] : receivers_) {
    const auto arrival = arrivals_.find(key);
    EGRET_CHECK(arrival != arrivals_.end(), "a pass waits for a message that no pass sends");
    program_.graph.add_dependency(task, arrival->second);
  }
}

void StepBuilder::keep_activations(std::uint32_t device, const PipelinePass& pass, TaskId first,
                                   TaskId last) {
  const StageCosts& costs = costs_[static_cast<std::size_t>(pass.stage)];
  const bool forward = pass.kind == PassKind::kForward;
  if (options_.forward_only) {
    const TrainingSetup& setup = setup_of(device);
    const double layer = std::max(
        setup.expert_layers() < setup.layers ? whole_layer_activation_bytes(setup) : 0,
        setup.expert_layers() > 0 ? whole_layer_activation_bytes(setup, LayerKind::kExperts) : 0);
    change_memory(device, first, true, MemoryKind::kWorkspace, layer);
    change_memory(device, last, false, MemoryKind::kWorkspace, -layer);
    return;
  }
  if (forward) {
    if (offloads_pieces(pass)) return;
    change_memory(device, first, true, MemoryKind::kActivations, costs.kept_bytes);
    if (!offloads_activations(options_.offload)) return;
    const TaskId copy = add_copy_of_pass(device, true, costs.kept_bytes, {last}, pass);
    progress_[device].offloaded[{pass.stage, pass.micro_batch}] = copy;
    change_host_memory(device, copy, true, costs.kept_bytes);
    return change_memory(device, copy, false, MemoryKind::kActivations, -costs.kept_bytes);
  }
  if (pass.kind != PassKind::kWeights) {
    change_memory(device, first, true, MemoryKind::kWorkspace, costs.workspace_bytes);
    change_memory(device, last, false, MemoryKind::kWorkspace, -costs.workspace_bytes);
  }
  if (releases_activations(pass) && !offloads_pieces(pass))
    change_memory(device, last, false, MemoryKind::kActivations, -costs.kept_bytes);
}

void StepBuilder::keep_piece(std::uint32_t device, const PipelinePass& pass, std::size_t piece,
                             TaskId first, TaskId last) {
  const std::vector<StagePiece>& pieces = costs_[static_cast<std::size_t>(pass.stage)].pieces;
  const double bytes = pieces[piece].kept_bytes;
  if (pass.kind == PassKind::kForward) {
    change_memory(device, first, true, MemoryKind::kActivations, bytes);
    constexpr std::size_t kLast = 2;  // are needed again at once
    if (piece + kLast >= pieces.size()) return;
    const TaskId copy = add_copy_of_pass(device, true, bytes, {last}, pass);
    progress_[device].offloaded_pieces[{pass.stage, pass.micro_batch, piece}] = copy;
    change_host_memory(device, copy, true, bytes);
    return change_memory(device, copy, false, MemoryKind::kActivations, -bytes);
  }
  if (releases_activations(pass))
    change_memory(device, last, false, MemoryKind::kActivations, -bytes);
}

base::Result<StepProgram> make_step_program(const System& system, const TrainingSetup& setup,
                                            const StepOptions& options) {
  EGRET_RETURN_IF_ERROR(setup.check());
  EGRET_RETURN_IF_ERROR(options.check(setup));
  EGRET_RETURN_IF_ERROR(system.check(setup.end_device(), setup.precision));
  const bool by_layer = options.zero_stage(setup) >= 2 || setup.overlap_gradients ||
                        offloads_activations(options.offload) || offloads_weights(options.offload);
  const double pieces = static_cast<double>(by_layer ? setup.layers : setup.chunks());
  const double tasks = pieces * static_cast<double>(setup.micro_batches()) *
                       static_cast<double>(options.each_replica ? setup.data : 1) * 8;
  if (tasks > static_cast<double>(kMostStepTasks)) {
    return base::limit_hit("the step has more than " + std::to_string(kMostStepTasks) +
                           " tasks; larger micro-batches make fewer");
  }
  EGRET_ASSIGN_OR_RETURN(const PipelineSchedule schedule,
                         pipeline_schedule(setup.schedule, setup.pipeline, setup.virtual_stages,
                                           setup.micro_batches()));
  return StepBuilder(system, setup, options, schedule).build();
}

}  // namespace egret::parallel
