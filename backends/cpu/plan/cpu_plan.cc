// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/plan/cpu_plan.h"

#include <algorithm>
#include <set>
#include <utility>

#include "backends/cpu/plan/onednn.h"
#include "backends/memory_planner.h"
#include "base/timer.h"

namespace egret::backends::cpu {

namespace {

// The nodes of the step with the most live bytes, and of the steps that made its live values. There
// is one kernel a step.
std::vector<ir::NodeId> peak_nodes(std::span<const Lifetime> lifetimes,
                                   std::span<const PlanReport::Kernel> kernels) {
  std::vector<std::int64_t> bytes(kernels.size(), 0);
  for (const Lifetime& buffer : lifetimes) {
    // O(buffers x lifetime), once per plan.
    for (int step = buffer.first; step <= buffer.last; ++step)
      bytes[static_cast<std::size_t>(step)] += buffer.bytes;
  }
  if (bytes.empty()) return {};
  const auto peak = static_cast<int>(std::ranges::max_element(bytes) - bytes.begin());
  std::set<ir::NodeId> nodes(kernels[static_cast<std::size_t>(peak)].ids.begin(),
                             kernels[static_cast<std::size_t>(peak)].ids.end());
  for (const Lifetime& buffer : lifetimes) {
    if (buffer.first > peak || buffer.last < peak) continue;
    const auto& made = kernels[static_cast<std::size_t>(buffer.first)].ids;
    nodes.insert(made.begin(), made.end());
  }
  return {nodes.begin(), nodes.end()};
}

// The outermost buffer that a buffer lies in, and the offset there in bytes.
struct Place {
  std::size_t outermost;
  std::int64_t offset;
};

Place place_of(std::size_t buffer, std::span<const Buffer> buffers) {
  Place place{buffer, 0};
  while (buffers[place.outermost].outer.valid()) {
    place.offset += buffers[place.outermost].offset;
    place.outermost = buffers[place.outermost].outer.index();
  }
  return place;
}

}  // namespace

// Plans the arena from the buffers' lifetimes (in steps), then resolves each buffer to an address.
// Addresses of inputs and outputs are set at each run.
base::Result<std::unique_ptr<ExecutablePlan>> CpuPlan::make(
    const ir::Graph& graph, const CompileOptions& options, int threads, std::vector<Buffer> buffers,
    std::vector<std::unique_ptr<Step>> steps, PlanReport report) {
  std::unique_ptr<CpuPlan> plan(new CpuPlan(graph, options.slices));
  plan->threads_ = threads;
  plan->profile_ = options.profile;
  plan->steps_ = std::move(steps);
  plan->report_ = std::move(report);
  plan->report_.slices = options.slices;
  plan->times_.resize(plan->steps_.size());

  std::vector<Lifetime> lifetimes;
  std::vector<std::size_t> lifetime_of(buffers.size(), 0);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& buffer = buffers[i];
    // Only outermost buffers that a step touches take space. Nested ones lie inside them.
    if (buffer.kind != BufferKind::kArena || buffer.outer.valid() || buffer.first < 0) continue;
    lifetime_of[i] = lifetimes.size();
    lifetimes.push_back({buffer.bytes, buffer.first, buffer.last});
  }
  const ArenaLayout arena = plan_arena(lifetimes);
  plan->report_.arena_bytes = arena.bytes;
  plan->report_.peak_nodes = peak_nodes(lifetimes, plan->report_.kernels);
  EGRET_RETURN_IF_ERROR(check_memory(arena.bytes));
  const base::Status allocated = guarded([&] {
    plan->arena_ = ir::Tensor(ir::DType::kU8, ir::Shape{arena.bytes});
    return base::ok();
  });
  if (!allocated.ok()) return no_memory(arena.bytes);

  plan->addresses_.assign(buffers.size(), nullptr);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const auto [outer, offset] = place_of(i, buffers);
    const Buffer& root = buffers[outer];
    const auto index = static_cast<std::size_t>(root.index);
    switch (root.kind) {
      case BufferKind::kInput: plan->from_inputs_.push_back({i, index, offset, root.bytes}); break;
      case BufferKind::kOutput:
        plan->from_outputs_.push_back({i, index, offset, root.bytes});
        break;
      case BufferKind::kArena:
        if (root.first < 0) break;
        plan->addresses_[i] =
            plan->arena_.mutable_data().data() + arena.offsets[lifetime_of[outer]] + offset;
        break;
      case BufferKind::kWeights:
        if (root.first < 0) break;
        plan->addresses_[i] = const_cast<std::byte*>(root.data.data().data()) + offset;
        break;
    }
  }
  if (options.guarded_memory) plan->guard(buffers);
  for (Buffer& buffer : buffers) {
    if (buffer.kind != BufferKind::kWeights || buffer.first < 0) continue;
    plan->report_.weights_bytes += buffer.data.bytes();
    plan->weights_.push_back(std::move(buffer.data));
  }
  return std::unique_ptr<ExecutablePlan>(std::move(plan));
}

void CpuPlan::guard(std::span<const Buffer> buffers) {
  guarded_ = std::make_unique<Guarded>();
  std::vector<std::byte*> roots(buffers.size(), nullptr);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& buffer = buffers[i];
    const bool external = buffer.kind == BufferKind::kInput || buffer.kind == BufferKind::kOutput;
    if (buffer.outer.valid() || (buffer.first < 0 && !external)) continue;
    const bool read = buffer.kind == BufferKind::kInput || buffer.kind == BufferKind::kWeights;
    GuardedBuffers& memory = read ? guarded_->read : guarded_->written;
    roots[i] = memory.allocate(static_cast<std::size_t>(buffer.bytes));
    if (buffer.kind == BufferKind::kWeights) std::ranges::copy(buffer.data.data(), roots[i]);
  }
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const auto [outer, offset] = place_of(i, buffers);
    if (roots[outer] != nullptr) addresses_[i] = roots[outer] + offset;
  }
}

// Nothing is zero at the start of a run, as in an arena that another run has used.
base::Status CpuPlan::run_guarded(std::span<const ir::Tensor> inputs, std::span<ir::Tensor> outputs,
                                  std::int64_t slice) {
  guarded_->written.scramble();
  for (const External& e : from_inputs_) {
    if (e.offset != 0) continue;
    std::ranges::copy(
        inputs[e.index].data().subspan(static_cast<std::size_t>(slice * e.slice_bytes),
                                       static_cast<std::size_t>(e.slice_bytes)),
        addresses_[e.buffer]);
  }
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    EGRET_RETURN_IF_ERROR(steps_[i]->run(Addresses(addresses_.data())));
    for (const GuardedBuffers* memory : {&guarded_->read, &guarded_->written})
      EGRET_RETURN_IF_ERROR(memory->check().at("kernel " + std::to_string(i) + " (" +
                                               report_.kernels[i].implementation + ")"));
  }
  for (const External& e : from_outputs_) {
    if (e.offset != 0) continue;
    std::copy_n(addresses_[e.buffer], e.slice_bytes,
                outputs[e.index].mutable_data().data() + slice * e.slice_bytes);
  }
  return base::ok();
}

base::Status CpuPlan::run_steps(const Addresses& addresses) {
  if (!profile_) {
    for (const auto& step : steps_) EGRET_RETURN_IF_ERROR(step->run(addresses));
    return base::ok();
  }
  const base::Stopwatch watch;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    StepTime& time = times_[i];
    time.last_start_s = watch.seconds();
    EGRET_RETURN_IF_ERROR(steps_[i]->run(addresses));
    time.last_s = watch.seconds() - time.last_start_s;
    time.total_s += time.last_s;
  }
  return base::ok();
}

// With slices, the plan is for one slice of the batch and runs once per slice at shifted addresses.
base::Status CpuPlan::execute(std::span<const ir::Tensor> inputs, std::span<ir::Tensor> outputs) {
  const ThreadScope scope(threads_);
  for (std::int64_t slice = 0; slice < slices_; ++slice) {
    if (guarded_) {
      EGRET_RETURN_IF_ERROR(guarded([&] { return run_guarded(inputs, outputs, slice); }));
      continue;
    }
    // Kernels only read inputs; the cast gives all addresses one type.
    for (const External& e : from_inputs_) {
      addresses_[e.buffer] =
          const_cast<std::byte*>(inputs[e.index].data().data()) + e.offset + slice * e.slice_bytes;
    }
    for (const External& e : from_outputs_) {
      addresses_[e.buffer] =
          outputs[e.index].mutable_data().data() + e.offset + slice * e.slice_bytes;
    }
    EGRET_RETURN_IF_ERROR(guarded([&] { return run_steps(Addresses(addresses_.data())); }));
  }
  if (profile_) ++profiled_runs_;
  return base::ok();
}

PlanReport CpuPlan::report() const {
  PlanReport report = report_;
  if (profiled_runs_ == 0) return report;
  for (std::size_t i = 0; i < report.kernels.size(); ++i) {
    report.kernels[i].seconds = times_[i].total_s / profiled_runs_;
    report.kernels[i].last_start_s = times_[i].last_start_s;
    report.kernels[i].last_s = times_[i].last_s;
  }
  return report;
}

}  // namespace egret::backends::cpu
