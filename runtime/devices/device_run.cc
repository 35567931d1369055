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
      place_(placed_.nodes.size(), 0),
      stages_(program_.stages.size()) {
  std::size_t inputs = 0;
  for (std::size_t i = 0; i < placed_.nodes.size(); ++i) {
    held_[i] = placed_.nodes[i].kind == Kind::kInput;
    if (held_[i]) place_[i] = inputs++;
  }
  inputs_there_.resize(inputs);
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
  find_first_reads();
}

void DeviceRun::find_first_reads() {
  std::vector<bool> is_read(placed_.nodes.size(), false), is_awaited(placed_.nodes.size(), false);
  const auto first = [&](std::vector<bool>& seen, std::size_t node) {
    const bool is_first = placed_.nodes[node].kind == Kind::kInput && !seen[node];
    seen[node] = true;
    return is_first;
  };
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    for (const std::size_t node : program_.stages[s].segment.inputs) {
      if (first(is_read, node)) stages_[s].first_read.push_back(node);
      if (first(is_awaited, node)) stages_[s].awaited.push_back(node);
    }
    for (const std::size_t node : program_.stages[s].collectives) {
      const std::size_t source = placed_.nodes[node].inputs.front();
      if (first(is_read, source)) stages_[s].first_read.push_back(source);
    }
  }
  for (std::size_t node = 0; node < placed_.nodes.size(); ++node) {
    if (first(is_read, node)) unread_.push_back(node);
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
  for (auto& there : inputs_there_) {
    EGRET_ASSIGN_OR_RETURN(there, device_->event(backends::cuda::kEventWithoutTiming));
  }
  EGRET_ASSIGN_OR_RETURN(exchanges_, device_->another_stream());
  EGRET_ASSIGN_OR_RETURN(copies_, device_->another_stream());
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
  if (of.kind == Kind::kInput) return inputs_there_[place_[node]].get();
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
      // Values of earlier segments were written on the same stream, which orders them.
      if (placed_.nodes[input].kind == Kind::kCollective)
        EGRET_RETURN_IF_ERROR(after(device_->stream(), ready(input)));
    }
    for (const std::size_t input : stage.awaited)
      EGRET_RETURN_IF_ERROR(after(device_->stream(), ready(input)));
    EGRET_RETURN_IF_ERROR(stage.plan->launch());
    EGRET_RETURN_IF_ERROR(mark(stage.done.get(), device_->stream()));
  }
  for (DeviceCollective& collective : stage.collectives)
    EGRET_RETURN_IF_ERROR(named(enqueue_collective(collective), collective.node));
  return base::ok();
}

// Memory of the host that is not pinned makes the host wait for its copy, so the inputs of a stage
// are copied when the stages before it are on their way.
base::Status DeviceRun::enqueue(std::span<const ir::Tensor> inputs) {
  EGRET_RETURN_IF_ERROR(copy_inputs(unread_, inputs));
  for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
    EGRET_RETURN_IF_ERROR(copy_inputs(stages_[stage].first_read, inputs));
    EGRET_RETURN_IF_ERROR(enqueue_stage(stage));
  }
  return base::ok();
}

base::Status DeviceRun::copy_inputs(std::span<const std::size_t> nodes,
                                    std::span<const ir::Tensor> inputs) {
  for (const std::size_t node : nodes) {
    const ir::Tensor& input = inputs[place_[node]];
    EGRET_CHECK(input.type() == placed_.nodes[node].type, "inputs as they are held");
    if (input.bytes() > 0) {
      EGRET_RETURN_IF_ERROR(device_->check(
          device_->driver().copy_in(values_[node], input.data().data(),
                                    static_cast<std::size_t>(input.bytes()), copies_.get()),
          "copying to it"));
    }
    EGRET_RETURN_IF_ERROR(mark(ready(node), copies_.get()));
  }
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
    const bool stops = ends_on_stop_ && base::stop_requested();
    if (stops || watch.seconds() > time_limit_s_) {
      return {base::StatusCode::kRankFailed,
              stops ? "stopped while waiting for other ranks"
                    : "no answer within " + std::to_string(time_limit_s_) + " s from all ranks"};
    }
  }
}

base::Status DeviceRun::copy_outputs_of(std::size_t node, std::vector<ir::Tensor>& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (placed_.outputs[i].node != node || outputs[i].bytes() == 0) continue;
    EGRET_RETURN_IF_ERROR(device_->check(
        device_->driver().copy_out(outputs[i].mutable_data().data(), values_[node],
                                   static_cast<std::size_t>(outputs[i].bytes()), copies_.get()),
        "copying from it"));
  }
  return base::ok();
}

// Values leave in the order of the stages. Before a segment's, the exchanges of earlier stages are
// waited for, because only they can hang: a run's own kernels end by themselves. An output is
// copied when it is complete, since the host might wait for its copy without a limit.
base::Status DeviceRun::collect(std::vector<ir::Tensor>& outputs) {
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    const auto& made = program_.stages[s].segment.outputs;
    const bool leaves = std::ranges::any_of(placed_.outputs, [&](const auto& output) {
      return std::ranges::find(made, output.node) != made.end();
    });
    if (leaves) EGRET_RETURN_IF_ERROR(wait_for(stages_[s].done.get()));
    for (const std::size_t node : made) EGRET_RETURN_IF_ERROR(copy_outputs_of(node, outputs));
    for (const DeviceCollective& collective : stages_[s].collectives) {
      EGRET_RETURN_IF_ERROR(named(wait_for(collective.done.get()), collective.node));
      EGRET_RETURN_IF_ERROR(copy_outputs_of(collective.node, outputs));
    }
  }
  for (std::size_t node = 0; node < placed_.nodes.size(); ++node) {
    if (stage_of_[node] < 0) EGRET_RETURN_IF_ERROR(copy_outputs_of(node, outputs));
  }
  return device_->wait();  // only its own kernels are left
}

// A failed run aborts the communicators, which ends kernels that wait for other ranks.
base::Result<std::vector<ir::Tensor>> DeviceRun::run(std::span<const ir::Tensor> inputs,
                                                     bool ends_on_stop) {
  ends_on_stop_ = ends_on_stop;
  EGRET_RETURN_IF_ERROR(device_->enter());
  std::vector<ir::Tensor> outputs;
  for (const auto& output : placed_.outputs) outputs.emplace_back(placed_.nodes[output.node].type);
  base::Status status = enqueue(inputs);
  if (status.ok()) status = collect(outputs);
  // The tensors of both ends live until their copies are done.
  const base::Status copied =
      device_->check(device_->driver().stream_wait(copies_.get()), "copying");
  if (status.ok()) status = copied;
  if (!status.ok()) {
    for (const auto& communicator : communicators_) {
      if (communicator != nullptr) communicator->abort();
    }
    return status;
  }
  for (const Stage& stage : stages_) {
    if (stage.plan != nullptr) EGRET_RETURN_IF_ERROR(stage.plan->failure());
  }
  return outputs;
}

}  // namespace egret::runtime
