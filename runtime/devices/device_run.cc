// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices/device_run.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/stop.h"
#include "base/system/rest.h"
#include "base/timer.h"
#include "runtime/devices/device_moves.h"

namespace egret::runtime {
namespace {

using backends::cuda::Device;
using backends::cuda::DevicePointer;
using backends::cuda::Event;
using backends::cuda::Stream;
using Kind = parallel::PlacedNode::Kind;

constexpr std::int64_t kAlignment = 256;

std::int64_t aligned(std::int64_t bytes) {
  return (std::max<std::int64_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

DeviceRun::DeviceRun(parallel::PlacedGraph placed, RankProgram program,
                     std::shared_ptr<Device> device, AxisCommunicators communicators,
                     double time_limit_s)
    : placed_(std::move(placed)),
      program_(std::move(program)),
      device_(std::move(device)),
      communicators_(std::move(communicators)),
      time_limit_s_(time_limit_s),
      held_(placed_.nodes.size(), false),
      stage_of_(placed_.nodes.size(), -1),
      done_by_(placed_.nodes.size(), 0),
      values_(placed_.nodes.size(), 0),
      stages_(program_.stages.size()) {
  for (std::size_t i = 0; i < placed_.nodes.size(); ++i)
    held_[i] = placed_.nodes[i].kind == Kind::kInput;
  // Constants that collectives and outputs read; segments have copies of their own.
  for (const auto& [node, block] : program_.blocks) held_[node] = true;
  for (std::size_t stage = 0; stage < program_.stages.size(); ++stage) {
    for (const std::size_t node : program_.stages[stage].segment.outputs) {
      held_[node] = true;
      stage_of_[node] = static_cast<int>(stage);
    }
    for (const std::size_t node : program_.stages[stage].collectives) {
      const parallel::Collective& collective = placed_.nodes[node].collective;
      held_[node] = true;
      // The index of the collective within its stage, under which ready() finds its event.
      done_by_[node] = stages_[stage].collectives.size();
      stage_of_[node] = static_cast<int>(stage);
      DeviceCollective& made = stages_[stage].collectives.emplace_back();
      made.node = node;
      made.moves = device_moves(collective, placed_.mesh.size(collective.axis),
                                placed_.mesh.coordinate(program_.rank, collective.axis),
                                placed_.nodes[placed_.nodes[node].inputs.front()].type);
    }
  }
}

// Members release driver handles, which needs the context; the communicators leave first.
DeviceRun::~DeviceRun() {
  (void)device_->enter();
  communicators_.clear();
}

base::Result<std::unique_ptr<DeviceRun>> DeviceRun::make(
    parallel::PlacedGraph placed, RankProgram program, const backends::Backend& backend,
    std::shared_ptr<Device> device, AxisCommunicators communicators, backends::Precision precision,
    double time_limit_s) {
  std::unique_ptr<DeviceRun> run(new DeviceRun(std::move(placed), std::move(program),
                                               std::move(device), std::move(communicators),
                                               time_limit_s));
  EGRET_RETURN_IF_ERROR(run->device_->enter());
  EGRET_RETURN_IF_ERROR(run->allocate());
  EGRET_RETURN_IF_ERROR(run->copy_constants());
  EGRET_RETURN_IF_ERROR(run->compile(backend, precision));
  return run;
}

// One allocation holds all values that segments and collectives exchange, plus the largest outgoing
// and incoming buffers: collectives run in order on one stream, so they share these.
base::Status DeviceRun::allocate() {
  std::vector<std::int64_t> offsets(values_.size(), 0);
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (!held_[i]) continue;
    offsets[i] = bytes;
    bytes += aligned(placed_.nodes[i].type.bytes());
  }
  std::int64_t outgoing = 0, incoming = 0;
  for (Stage& stage : stages_) {
    for (DeviceCollective& collective : stage.collectives) {
      outgoing = std::max(outgoing, collective.moves.outgoing_bytes);
      incoming = std::max(incoming, collective.moves.incoming_bytes);
      EGRET_ASSIGN_OR_RETURN(collective.done, device_->event(backends::cuda::kEventWithoutTiming));
    }
    EGRET_ASSIGN_OR_RETURN(stage.done, device_->event(backends::cuda::kEventWithoutTiming));
  }
  EGRET_ASSIGN_OR_RETURN(inputs_there_, device_->event(backends::cuda::kEventWithoutTiming));
  EGRET_ASSIGN_OR_RETURN(exchanges_, device_->another_stream());
  EGRET_ASSIGN_OR_RETURN(
      memory_,
      device_->allocate(static_cast<std::size_t>(bytes + aligned(outgoing) + aligned(incoming))));
  const auto at = [&](std::int64_t offset) {
    return memory_.get() + static_cast<DevicePointer>(offset);
  };
  outgoing_ = at(bytes);
  incoming_ = at(bytes + aligned(outgoing));
  for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = held_[i] ? at(offsets[i]) : 0;
  return base::ok();
}

// Constants that collectives read, and halo rows beyond the tensor's ends, which are never
// overwritten.
base::Status DeviceRun::copy_constants() {
  for (const auto& [node, block] : program_.blocks)
    EGRET_RETURN_IF_ERROR(copy_constant(node, block));
  for (const Stage& stage : stages_) {
    for (const DeviceCollective& collective : stage.collectives) {
      const parallel::PlacedNode& node = placed_.nodes[collective.node];
      const parallel::AxisPlacement& to = node.collective.to;
      if (!to.has_halo()) continue;
      EGRET_RETURN_IF_ERROR(
          copy_constant(collective.node, ir::Tensor::filled(node.type, to.halo.value_beyond())));
    }
  }
  return base::ok();
}

base::Status DeviceRun::copy_constant(std::size_t node, const ir::Tensor& block) {
  if (block.bytes() == 0) return base::ok();
  EGRET_RETURN_IF_ERROR(device_->copy_in(values_[node], block.data().data(),
                                         static_cast<std::size_t>(block.bytes())));
  return device_->wait();  // the tensor lives until here
}

// Each segment is compiled onto the addresses of the values, so that nothing is copied between a
// segment and a collective.
base::Status DeviceRun::compile(const backends::Backend& backend, backends::Precision precision) {
  for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
    const Segment& segment = program_.stages[stage].segment;
    if (segment.outputs.empty()) continue;
    backends::cuda::BoundMemory bound;
    for (const std::size_t node : segment.inputs) bound.inputs.push_back(values_[node]);
    for (const std::size_t node : segment.outputs) bound.outputs.push_back(values_[node]);
    EGRET_ASSIGN_OR_RETURN(stages_[stage].plan, backends::cuda::compile_on(
                                                    backend, device_, segment.graph,
                                                    {.threads = 1, .precision = precision}, bound));
  }
  return base::ok();
}

// Work that is enqueued on the stream from now on waits for the event; the host does not.
base::Status DeviceRun::after(Stream stream, const Event& event) const {
  return device_->check(device_->driver().stream_wait_event(stream, event, 0),
                        "ordering two streams");
}

base::Status DeviceRun::mark(const Event& event, Stream stream) const {
  return device_->check(device_->driver().event_record(event, stream), "recording an event");
}

// The event after which the value is complete; null for a constant, which always is.
Event DeviceRun::ready(std::size_t node) const {
  const parallel::PlacedNode& of = placed_.nodes[node];
  if (of.kind == Kind::kInput) return inputs_there_.get();
  if (stage_of_[node] < 0) return nullptr;
  const Stage& stage = stages_[static_cast<std::size_t>(stage_of_[node])];
  return of.kind == Kind::kCollective ? stage.collectives[done_by_[node]].done.get()
                                      : stage.done.get();
}

base::Status DeviceRun::named(base::Status status, std::size_t node) const {
  if (status.ok()) return status;
  const parallel::Collective& collective = placed_.nodes[node].collective;
  return status.at(std::string(name_of(collective)) + " along '" +
                   placed_.mesh.axis(collective.axis).name + "' (node " + std::to_string(node) +
                   ")");
}

// Events order the streams; the host does not wait for a step. A collective waits for its source,
// and segments wait for the collectives that they read.
base::Status DeviceRun::enqueue_collective(DeviceCollective& collective) {
  const parallel::PlacedNode& node = placed_.nodes[collective.node];
  const std::size_t source = node.inputs.front();
  if (const Event event = ready(source); event != nullptr)
    EGRET_RETURN_IF_ERROR(after(exchanges_.get(), event));
  const nccl::Addresses addresses{values_[source], values_[collective.node], outgoing_, incoming_};
  EGRET_RETURN_IF_ERROR(nccl::enqueue(
      collective.moves, addresses, *device_,
      communicators_[static_cast<std::size_t>(node.collective.axis)].get(), exchanges_.get()));
  return mark(collective.done.get(), exchanges_.get());
}

base::Status DeviceRun::enqueue_stage(std::size_t s) {
  Stage& stage = stages_[s];
  if (stage.plan != nullptr) {
    for (const std::size_t input : program_.stages[s].segment.inputs) {
      // Inputs and values of earlier segments were written on the same stream, which orders them.
      if (placed_.nodes[input].kind == Kind::kCollective)
        EGRET_RETURN_IF_ERROR(after(device_->stream(), ready(input)));
    }
    EGRET_RETURN_IF_ERROR(stage.plan->launch());
    EGRET_RETURN_IF_ERROR(mark(stage.done.get(), device_->stream()));
  }
  for (DeviceCollective& collective : stage.collectives)
    EGRET_RETURN_IF_ERROR(named(enqueue_collective(collective), collective.node));
  return base::ok();
}

// Enqueues a whole run without a wait of the host: inputs, then each stage's segment and
// collectives.
base::Status DeviceRun::enqueue(std::span<const ir::Tensor> inputs) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (placed_.nodes[i].kind != Kind::kInput) continue;
    const ir::Tensor& input = inputs[next++];
    EGRET_CHECK(input.type() == placed_.nodes[i].type, "inputs as they are held");
    if (input.bytes() == 0) continue;
    EGRET_RETURN_IF_ERROR(
        device_->copy_in(values_[i], input.data().data(), static_cast<std::size_t>(input.bytes())));
  }
  EGRET_RETURN_IF_ERROR(mark(inputs_there_.get(), device_->stream()));
  for (std::size_t stage = 0; stage < stages_.size(); ++stage)
    EGRET_RETURN_IF_ERROR(enqueue_stage(stage));
  return base::ok();
}

// Polls, because what waits for a dead rank on the device never ends by itself.
base::Status DeviceRun::wait_for(const Event& event) {
  const base::Stopwatch watch;
  for (base::Rest rest;; rest.pause()) {
    EGRET_ASSIGN_OR_RETURN(const bool done, device_->is_done(event));
    if (done) return base::ok();
    for (const auto& communicator : communicators_) {
      if (communicator != nullptr) EGRET_RETURN_IF_ERROR(communicator->check());
    }
    if (base::stop_requested() || watch.seconds() > time_limit_s_) {
      return {base::StatusCode::kRankFailed,
              base::stop_requested()
                  ? "stopped while waiting for other ranks"
                  : "no answer within " + std::to_string(time_limit_s_) + " s from all ranks"};
    }
  }
}

// Waits for the exchanges first, because only they can hang: a run's own kernels end by themselves.
base::Status DeviceRun::wait_for_all() {
  for (const Stage& stage : stages_) {
    for (const DeviceCollective& collective : stage.collectives)
      EGRET_RETURN_IF_ERROR(named(wait_for(collective.done.get()), collective.node));
  }
  return device_->wait();  // only its own kernels are left
}

// A failed run aborts the communicators, which ends kernels that wait for other ranks.
base::Result<std::vector<ir::Tensor>> DeviceRun::run(std::span<const ir::Tensor> inputs) {
  EGRET_RETURN_IF_ERROR(device_->enter());
  base::Status status = enqueue(inputs);
  if (status.ok()) status = wait_for_all();
  if (!status.ok()) {
    for (const auto& communicator : communicators_) {
      if (communicator != nullptr) communicator->abort();
    }
    return status;
  }
  std::vector<ir::Tensor> outputs;
  for (const auto& output : placed_.outputs) {
    ir::Tensor& tensor = outputs.emplace_back(placed_.nodes[output.node].type);
    if (tensor.bytes() == 0) continue;
    EGRET_RETURN_IF_ERROR(device_->copy_out(tensor.mutable_data().data(), values_[output.node],
                                            static_cast<std::size_t>(tensor.bytes())));
  }
  EGRET_RETURN_IF_ERROR(device_->wait());
  for (const Stage& stage : stages_) {
    if (stage.plan != nullptr) EGRET_RETURN_IF_ERROR(stage.plan->failure());
  }
  return outputs;
}

}  // namespace egret::runtime
