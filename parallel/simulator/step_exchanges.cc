// SPDX-License-Identifier: Apache-2.0
// Links, exchanges of gradients and weights, copies to the host, and the end of the step.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "parallel/simulator/step_builder.h"
#include "parallel/transformer/experts.h"
#include "parallel/transformer/stage_transfer.h"
#include "parallel/transformer/training_memory.h"
#include "parallel/transformer/transformer_kernels.h"

namespace egret::parallel {
namespace {

std::uint32_t number(StepStream stream) { return static_cast<std::uint32_t>(stream); }

constexpr StepTask kOfStep(StepPart part) { return {part, -1, -1, -1}; }

}  // namespace

// For each device: out and in of each tier, then to and from the host.
void StepBuilder::add_links() {
  for (std::size_t device = 0; device < progress_.size(); ++device) {
    const std::string name = "device " + std::to_string(device) + " ";
    const auto add_pair = [&](const std::string& out, const std::string& in, double rate) {
      for (const std::string& end : {out, in}) {
        program_.graph.add_link(rate);
        program_.link_names.push_back(name + end);
      }
    };
    for (const Tier& tier : system_.fabric.tiers)
      add_pair(tier.name + " out", tier.name + " in", 1);
    add_pair("to host", "from host", options_.host_bandwidth);
  }
}

// A link is as fast as the fastest flow over it can be.
void StepBuilder::set_link_rates() {
  for (const SimulatedTask& task : program_.graph.tasks()) {
    for (const LinkId link : task.links) {
      double& rate = program_.graph.links()[link.index()];
      rate = std::max(rate, task.work.most_bytes_per_second);
    }
  }
}

TaskId StepBuilder::add_flow(std::uint32_t device, StepStream stream, const CollectiveTime& time,
                             std::vector<TaskId> after, StepTask what) {
  const std::size_t per_device = 2 * (system_.fabric.tiers.size() + 1);
  const std::size_t to = what.receiver >= 0 ? static_cast<std::size_t>(what.receiver) : device;
  // Members of a domain share the bytes that it sends, so each has its part at its part of the
  // rate.
  return add({.device = device,
              .stream = number(stream),
              .effect = TaskEffect::kCommunicates,
              .work = {.seconds = time.latency_s,
                       .bytes = time.wire_bytes / time.lenders,
                       .most_bytes_per_second = time.bytes_per_second / time.lenders},
              .links = {LinkId(device * per_device + 2 * time.tier),
                        LinkId(to * per_device + 2 * time.tier + 1)},
              .after = std::move(after)},
             what);
}

TaskId StepBuilder::add_copy(std::uint32_t device, bool to_host, double bytes, double rate,
                             std::vector<TaskId> after, StepTask what) {
  const std::size_t per_device = 2 * (system_.fabric.tiers.size() + 1);
  const std::size_t link = (device + 1) * per_device - (to_host ? 2 : 1);
  return add({.device = device,
              .stream = number(to_host ? StepStream::kCopyOut : StepStream::kCopyIn),
              .effect = TaskEffect::kCommunicates,
              .work = {.bytes = bytes, .most_bytes_per_second = rate},
              .links = {LinkId(link)},
              .after = std::move(after)},
             what);
}

std::array<StepBuilder::DividedPart, 2> StepBuilder::divided_parts(const TrainingSetup& setup,
                                                                   double parameters,
                                                                   double expert_parameters) const {
  return {{{parameters - expert_parameters, {copies(setup), setup.tensor}},
           {expert_parameters, expert_data_group(setup, copies(setup))}}};
}

// From the host or from other ranks, at most `prefetch` pieces before they are needed.
StepBuilder::Gathering StepBuilder::bring_weights(std::uint32_t device, const StagePiece& piece,
                                                  const PipelinePass& pass) {
  const bool fetches = offloads_weights(options_.offload);
  const std::vector<TaskId>& computed = progress_[device].computed;
  const auto ahead = static_cast<std::size_t>(options_.prefetch);
  std::vector<TaskId> after;
  if (computed.size() > ahead) after.push_back(computed[computed.size() - 1 - ahead]);
  Gathering gathering;
  for (const auto& [parameters, group] :
       divided_parts(setup_of(device), piece.parameters, piece.expert_parameters)) {
    const bool gathers = zero_ == 3 && group.size > 1;
    if (parameters <= 0 || !(gathers || fetches)) continue;
    gathering.parameters += parameters;
    TaskId first, end;
    if (fetches) {
      const double own = parameters / static_cast<double>(gathers ? group.size : 1);
      first = end = add_copy_of_pass(device, false, setup_.weight_bytes() * own, after, pass);
    }
    if (gathers) {
      const CollectiveTime time = system_.fabric.collective(
          CollectiveKind::kAllGather, setup_.weight_bytes() * parameters, group);
      const StepTask what{StepPart::kWeights, static_cast<std::int32_t>(pass.micro_batch),
                          static_cast<std::int32_t>(pass.stage), -1};
      end = add_flow(device, StepStream::kGather, time,
                     fetches ? std::vector<TaskId>{first} : after, what);
      if (!fetches) first = end;
    }
    if (!gathering.first.valid()) gathering.first = first;
    gathering.ends.push_back(end);
  }
  return gathering;
}

TaskId StepBuilder::add_copy_of_pass(std::uint32_t device, bool to_host, double bytes,
                                     std::vector<TaskId> after, const PipelinePass& pass) {
  return add_copy(device, to_host, bytes, options_.bandwidth_to(options_.offload), std::move(after),
                  {StepPart::kOffload, static_cast<std::int32_t>(pass.micro_batch),
                   static_cast<std::int32_t>(pass.stage), -1});
}

double StepBuilder::own_parameters(std::uint32_t device, const StagePiece& piece) const {
  double own = 0;
  for (const auto& [parameters, group] :
       divided_parts(setup_of(device), piece.parameters, piece.expert_parameters))
    own += parameters / static_cast<double>(zero_ == 3 ? group.size : 1);
  return own;
}

void StepBuilder::take_gradients_away(std::uint32_t device, const StagePiece& piece,
                                      const PipelinePass& pass, const Computed& computed,
                                      std::size_t exchanged) {
  Progress& progress = progress_[device];
  std::vector<TaskId> after(progress.exchanged.begin() + static_cast<std::ptrdiff_t>(exchanged),
                            progress.exchanged.end());
  after.push_back(computed.last);
  const double bytes = static_cast<double>(setup_.gradient_bytes) * own_parameters(device, piece);
  const TaskId copy = add_copy_of_pass(device, true, bytes, std::move(after), pass);
  change_memory(device, computed.first, true, MemoryKind::kGradients, bytes);
  change_memory(device, copy, false, MemoryKind::kGradients, -bytes);
  progress.taken_away.push_back(copy);
  progress.exchanged.push_back(copy);
}

void StepBuilder::wait_for_gradients(std::uint32_t device, std::vector<TaskId>& after) const {
  const std::vector<TaskId>& taken = progress_[device].taken_away;
  if (taken.size() > 1) after.push_back(taken[taken.size() - 2]);
}

// The copy back begins when the pass before the one before has ended.
TaskId StepBuilder::fetch_activations(std::uint32_t device, const PipelinePass& pass) {
  const Progress& progress = progress_[device];
  std::vector<TaskId> after = {progress.offloaded.at({pass.stage, pass.micro_batch})};
  if (progress.passes.size() > 1) after.push_back(progress.passes[progress.passes.size() - 2]);
  const double bytes = costs_[static_cast<std::size_t>(pass.stage)].kept_bytes;
  const TaskId copy = add_copy_of_pass(device, false, bytes, std::move(after), pass);
  change_memory(device, copy, true, MemoryKind::kActivations, bytes);
  change_host_memory(device, copy, false, -bytes);
  return copy;
}

// While the piece before is computed, backward.
std::optional<TaskId> StepBuilder::fetch_piece(std::uint32_t device, const PipelinePass& pass,
                                               std::size_t piece) {
  const Progress& progress = progress_[device];
  const auto left = progress.offloaded_pieces.find({pass.stage, pass.micro_batch, piece});
  if (left == progress.offloaded_pieces.end()) return std::nullopt;
  std::vector<TaskId> after = {left->second};
  if (progress.computed.size() > 1)
    after.push_back(progress.computed[progress.computed.size() - 2]);
  const double bytes = costs_[static_cast<std::size_t>(pass.stage)].pieces[piece].kept_bytes;
  const TaskId copy = add_copy_of_pass(device, false, bytes, std::move(after), pass);
  change_memory(device, copy, true, MemoryKind::kActivations, bytes);
  change_host_memory(device, copy, false, -bytes);
  return copy;
}

void StepBuilder::exchange_gradients(std::uint32_t device, std::int64_t stage, std::size_t piece,
                                     std::int32_t micro_batch, double parameters,
                                     double expert_parameters, TaskId ready) {
  std::size_t part = 2 * piece;
  for (const auto& [count, group] :
       divided_parts(setup_of(device), parameters, expert_parameters)) {
    const std::size_t number_of_part = part++;
    if (count <= 0 || group.size == 1) continue;
    const CollectiveTime time = system_.fabric.collective(
        zero_ >= 1 ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
        static_cast<double>(setup_.gradient_bytes) * count, group);
    const TaskId flow =
        add_flow(device, StepStream::kExchange, time, {ready},
                 {StepPart::kGradients, micro_batch, static_cast<std::int32_t>(stage), -1});
    exchanges_[device].push_back({stage, number_of_part, micro_batch, flow, ready});
    progress_[device].exchanged.push_back(flow);
    if (exchanges_block()) progress_[device].blocking = flow;
  }
}

void StepBuilder::exchange_piece(std::uint32_t device, const PipelinePass& pass, std::size_t piece,
                                 TaskId after) {
  const bool last = progress_[device].backward_left.at(pass.stage) == 0;
  if (zero_ < 2 && !last) return;
  const StagePiece& one = costs_[static_cast<std::size_t>(pass.stage)].pieces[piece];
  // Of each micro-batch under ZeRO-2. Directions of DualPipe have micro-batches of their own.
  const std::int64_t micro =
      pass.micro_batch %
      std::max<std::int64_t>(
          1, schedule_.micro_batches / (schedule_.kind == PipelineKind::kDualPipe ? 2 : 1));
  exchange_gradients(device, pass.stage, piece, static_cast<std::int32_t>(zero_ >= 2 ? micro : -1),
                     one.parameters, one.expert_parameters, after);
}

void StepBuilder::exchange_stages(std::uint32_t device) {
  for (const auto& [stage, left] : progress_[device].backward_left) {
    const StageCosts& costs = costs_[static_cast<std::size_t>(stage)];
    exchange_gradients(device, stage, 0, -1, costs.parameters, costs.expert_parameters,
                       progress_[device].passes.back());
  }
}

// An exchange begins when all devices that take part have their gradients.
void StepBuilder::join_replicas() {
  if (replicas_ == 1 && schedule_.kind != PipelineKind::kDualPipe) return;
  std::map<std::tuple<std::int64_t, std::size_t, std::int32_t>, TaskId> joins;
  for (std::uint32_t device = 0; device < exchanges_.size(); ++device) {
    for (const Exchange& exchange : exchanges_[device]) {
      const std::tuple key(exchange.stage, exchange.piece, exchange.micro_batch);
      TaskId& join = joins[key];
      if (!join.valid()) {
        // On a lane of its own: joins do not wait for each other.
        join = add(
            {.device = device,
             .stream = number(StepStream::kJoin) + static_cast<std::uint32_t>(joins.size())},
            {StepPart::kJoin, exchange.micro_batch, static_cast<std::int32_t>(exchange.stage), -1});
      }
      program_.graph.add_dependency(join, exchange.ready);
      program_.graph.add_dependency(exchange.flow, join);
    }
  }
}

// The first and the last stage hold the same weights of the embedding and add their gradients.
TaskId StepBuilder::exchange_embedding(std::int64_t replica) {
  const std::int64_t ranks = schedule_.ranks;
  const std::vector<StageDegrees> stages = setup_.stages();
  // The end with fewer tensor ranks has more on a device.
  const double bytes =
      static_cast<double>(setup_.gradient_bytes) *
      std::max(costs_.front().embedding_parameters, costs_.back().embedding_parameters);
  const std::uint32_t first = device_of(replica, 0), last = device_of(replica, ranks - 1);
  std::vector<TaskId> after;
  for (const std::uint32_t device : {first, last}) {
    const Progress& progress = progress_[device];
    after.push_back(progress.exchanged.empty() ? progress.passes.back()
                                               : progress.exchanged.back());
  }
  const std::int64_t distance = stage_distance(system_.fabric, stages.front(), stages.back());
  const CollectiveTime time = system_.fabric.transfer(bytes, distance);
  StepTask what = kOfStep(StepPart::kGradients);
  for (const auto& [from, to] : {std::pair(first, last), std::pair(last, first)}) {
    what.receiver = static_cast<std::int32_t>(to);
    const TaskId flow = add_flow(from, StepStream::kExchange, time, after, what);
    progress_[from].exchanged.push_back(flow);
  }
  return after.back();
}

// All ranks agree on the norm of the gradients; then each updates its weights.
void StepBuilder::add_end_of_step() {
  if (options_.forward_only) return;
  std::vector<TaskId> after;
  for (std::int64_t replica = 0; replica < replicas_; ++replica) {
    // DualPipe's ranks hold both ends already.
    if (trains() && schedule_.ranks > 1 && costs_.back().embedding_parameters > 0 &&
        schedule_.kind != PipelineKind::kDualPipe) {
      exchange_embedding(replica);
    }
  }
  for (const Progress& progress : progress_) {
    after.push_back(progress.passes.back());
    after.insert(after.end(), progress.exchanged.begin(), progress.exchanged.end());
  }
  const TaskId all = add({.device = 0, .stream = number(StepStream::kJoin), .after = after},
                         kOfStep(StepPart::kJoin));
  const TaskId agreed = add_common_end(all);
  for (std::uint32_t device = 0; device < progress_.size(); ++device) add_optimizer(device, agreed);
}

double StepBuilder::common_host_s() const {
  double least_s = system_.accelerator.host_seconds_per_step;
  for (const Place& place : places_)
    least_s = std::min(least_s, place.system.accelerator.host_seconds_per_step);
  return least_s;
}

// The norm is one collective, and the hosts work from its end on, all as long as the quickest one.
// A task for each device would say the same.
TaskId StepBuilder::add_common_end(TaskId ready) {
  TaskId before = ready;
  const auto add_everywhere = [&](StepStream stream, TaskEffect effect, double seconds,
                                  StepPart part) {
    StepTask what = kOfStep(part);
    what.everywhere = true;
    before = add({.device = 0,
                  .stream = number(stream),
                  .effect = effect,
                  .work = {.seconds = seconds},
                  .after = {before}},
                 what);
  };
  if (trains() && setup_.devices() > 1) {
    const CollectiveTime norm =
        system_.fabric.collective(CollectiveKind::kAllReduce, 4, {setup_.devices(), 1});
    add_everywhere(StepStream::kExchange, TaskEffect::kCommunicates, norm.seconds(),
                   StepPart::kGradients);
  }
  if (const double host_s = common_host_s(); host_s > 0)
    add_everywhere(StepStream::kHost, TaskEffect::kNone, host_s, StepPart::kHost);
  return before;
}

void StepBuilder::add_optimizer(std::uint32_t device, TaskId ready) {
  const StepDevice& held = program_.devices[device];
  const auto& [setup, system] = place_of(device);
  const double parameters =
      zero_ >= 1 ? divided_parameters(setup, held.parameters, held.expert_parameters, copies(setup))
                 : held.parameters;
  TaskId before = ready;
  if (const double more_s = system.accelerator.host_seconds_per_step - common_host_s();
      more_s > 0) {
    before = add({.device = device,
                  .stream = number(StepStream::kHost),
                  .work = {.seconds = more_s},
                  .after = {before}},
                 kOfStep(StepPart::kHost));
  }
  if (!trains()) return;
  const TaskId prepared = before;
  progress_[device].issued = prepared;
  const StepTask copies_state = kOfStep(StepPart::kOffload);
  if (offloads_optimizer(options_.offload)) {
    const bool all = offloads_weights(options_.offload);  // gradients are there, and weights stay
    const auto gradient = static_cast<double>(setup_.gradient_bytes);
    if (!all)
      before = add_copy(device, true, gradient * parameters, options_.host_bandwidth, {before},
                        copies_state);
    before =
        add({.device = device,
             .stream = number(StepStream::kHost),
             .work = {.seconds = host_update_s(setup_, options_, options_.offload, parameters)},
             .after = {before}},
            kOfStep(StepPart::kHost));
    if (!all)
      before = add_copy(device, false, setup_.weight_bytes() * parameters, options_.host_bandwidth,
                        {before}, copies_state);
  } else {
    const KernelTime time = optimizer_step(system, setup, parameters).time();
    const Computed update = add_compute(device, time, {before}, kOfStep(StepPart::kOptimizer));
    if (update.issue.valid()) program_.graph.add_dependency(update.issue, prepared);
    before = update.last;
  }
  if (zero_ < 1 || zero_ == 3) return;
  for (const auto& [count, group] : divided_parts(setup, held.parameters, held.expert_parameters)) {
    if (count <= 0 || group.size == 1) continue;
    const CollectiveTime time =
        system_.fabric.collective(CollectiveKind::kAllGather, setup_.weight_bytes() * count, group);
    add_flow(device, StepStream::kExchange, time, {before}, kOfStep(StepPart::kWeights));
  }
}

}  // namespace egret::parallel
