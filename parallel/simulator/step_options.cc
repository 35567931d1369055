// SPDX-License-Identifier: Apache-2.0
#include "parallel/simulator/step_options.h"

#include <algorithm>

namespace egret::parallel {

const base::OptionTable<StepOptions>& StepOptions::table() {
  using S = StepOptions;
  static const base::OptionTable<S> rows{
      "simulate-step",
      {{"forward-only", &S::forward_only, "Only forward passes, as in inference"},
       {"zero", &S::zero,
        "What data-parallel ranks divide: 1 the optimizer's state, 2 also gradients, 3 also "
        "weights",
        base::range(0, 3)},
       {"prefetch", &S::prefetch, "Layers whose weights are gathered ahead with --zero 3",
        base::range(0, 1e6)},
       {"offload", &S::offload,
        "What is kept in the memory of the host, or on its disks; weights: with their "
        "gradients and the optimizer's state",
        base::one_of({kOffloadNames.begin(), kOffloadNames.end()})},
       {"host-bandwidth", &S::host_bandwidth,
        "Bytes a second between a device and its host, in each direction", base::range(1, 1e15)},
       {"host-memory-bandwidth", &S::host_memory_bandwidth,
        "Bytes a second at which the host updates a device's part of the weights",
        base::range(1, 1e15)},
       {"host-memory", &S::host_memory,
        "Bytes of the host's memory for each device; 0: not limited", base::range(0, 1e18)},
       {"disk-bandwidth", &S::disk_bandwidth,
        "Bytes a second between the host and its disks for each device, in each direction",
        base::range(1, 1e15)},
       {"recorded-launches", &S::recorded_launches,
        "Kernels are launched from recorded graphs, which costs the host no time"},
       {"fragmentation", &S::fragmentation,
        "Part of activations and workspace that the allocator loses", base::range(0, 10)},
       {"each-replica", &S::each_replica,
        "Simulate each data-parallel replica; otherwise one stands for all"},
       {"jitter", &S::jitter, "Standard deviation of the time of a pass, relative to its mean",
        base::range(0, 1)},
       {"straggler-share", &S::straggler_share, "Share of the devices that are slow",
        base::range(0, 1)},
       {"straggler-slowdown", &S::straggler_slowdown, "Time of a slow device relative to others",
        base::range(1, 100)},
       {"trials", &S::trials, "Simulate so many random steps and report their distribution",
        base::range(0, 1e6)},
       {"trial-seed", &S::seed, "Seed of the random steps", base::range(0, 1e15)}}};
  return rows;
}

base::Status StepOptions::check(const TrainingSetup& setup) const {
  if (zero > 0 && setup.frozen) return base::usage_error("--zero cannot be combined with --frozen");
  if (zero > 0 && forward_only)
    return base::usage_error("--zero cannot be combined with --forward-only");
  if (offload != Offload::kNone && forward_only)
    return base::usage_error("--offload cannot be combined with --forward-only");
  if (setup.schedule == PipelineKind::kDualPipe && forward_only)
    return base::usage_error("--schedule dualpipe cannot be combined with --forward-only");
  if (offloads_optimizer(offload) && setup.frozen)
    return base::usage_error("--offload " + std::string(name_of(offload)) +
                             " cannot be combined with --frozen");
  if (offloads_weights(offload)) {
    if (setup.schedule == PipelineKind::kDualPipe) {
      return base::usage_error("--offload " + std::string(name_of(offload)) +
                               " cannot be combined with --schedule dualpipe");
    }
    const bool several = std::ranges::any_of(
        setup.stages(), [](const StageDegrees& one) { return one.data * one.context > 1; });
    if (several && zero_stage(setup) != 3) {
      return base::usage_error("--offload " + std::string(name_of(offload)) +
                               " needs --zero 3 where several ranks hold the same weights");
    }
  }
  if (setup.wide_resnet > 0 && (zero > 1 || offload != Offload::kNone || forward_only)) {
    return base::usage_error(
        "--wide-resnet cannot be combined with --zero 2, --zero 3, --offload and --forward-only");
  }
  if (setup.has_unlike_stages() && (each_replica || trials > 0)) {
    return base::usage_error(
        "--each-replica and --trials are for pipeline ranks of equal degrees; they cannot be "
        "combined "
        "with --stage-tp, --stage-cp, --stage-dp and --stage-first");
  }
  if ((jitter > 0 || straggler_share > 0) && trials == 0)
    return base::usage_error("--jitter and --straggler-share need --trials");
  return base::ok();
}

double host_update_s(const TrainingSetup& setup, const StepOptions& options, Offload offload,
                     double parameters) {
  const auto gradient = static_cast<double>(setup.gradient_bytes);
  const double in_memory = parameters * (gradient + 12 + 12 + 2) / options.host_memory_bandwidth;
  if (!uses_disks(offload)) return in_memory;
  double bytes = static_cast<double>(setup.optimizer_bytes);
  if (offloads_weights(offload)) bytes += gradient + setup.weight_bytes();
  const double state = parameters * bytes;
  return std::max(in_memory, state / options.disk_bandwidth);
}

}  // namespace egret::parallel
