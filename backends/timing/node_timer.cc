// SPDX-License-Identifier: Apache-2.0
#include "backends/timing/node_timer.h"

#include <algorithm>
#include <optional>
#include <string>

#include "ir/graph/builder.h"

namespace egret::backends {
namespace {

// The graph of one application of the operator. With `after_relu` a relu makes its first input: an
// operator that joins regions is fused with it.
base::Result<ir::Graph> one_operator(const Application& of, bool after_relu, std::uint64_t seed) {
  ir::GraphBuilder builder;
  base::Random random(seed);
  std::vector<ir::Value> inputs = add_inputs(builder, of, random);
  if (after_relu) inputs[0] = builder.add("relu", {inputs[0]});
  builder.output("y", builder.add(of.op, inputs, of.attrs));
  return builder.finish();
}

// `thrift` off: the memory limits of a plan scale with its graph, and a graph of one operator would
// fall below them.
CompileOptions plan_options(const TimerOptions& options) {
  return {.threads = options.threads, .precision = options.precision, .thrift = false};
}

// A lower bound for a fused operator on a device. Events resolve no less. It also prefers, between
// graphs with equally many kernels, the one with fewer operators: an operator that is fused in a
// small graph is not always fused in a large one.
constexpr double kLeastOnDevice = 1e-7;

struct KernelSeconds {
  Timing timing;
  bool any_kernel = false;
  bool fallback = false;
};

// Other processes slow a measurement down for some tens of milliseconds and never speed it up. The
// result is therefore the least median of several short measurements.
//
// Inputs lie in the caches as far as they fit; weights come from memory, as in a graph. Sweeping
// the caches takes longer than most kernels, hence fewer runs. A device's caches are not swept,
// since its memory is hardly slower. A device is also undisturbed and times each kernel by many
// launches, so a few runs show the variation.
base::Result<Timing> quiet_timing(ExecutablePlan& plan, bool on_device,
                                  const MeasureOptions& options) {
  constexpr int kMeasurements = 3;
  constexpr std::int64_t kFewWeights = 32 << 10;  // weights of at most this size stay in the caches
  MeasureOptions part = options;
  part.rotate_bytes = 0;
  part.on_device = on_device;
  if (on_device) {
    part.min_seconds = 0;
    return measure(plan, part);
  }
  part.sweep = plan.report().weights_bytes > kFewWeights;
  if (part.sweep) {
    part.warm_up_runs = 1;
    part.min_runs = (options.min_runs + 1) / 2;
  }
  part.min_seconds /= kMeasurements;
  part.max_seconds /= kMeasurements;
  EGRET_ASSIGN_OR_RETURN(Timing best, measure(plan, part));
  for (int k = 1; k < kMeasurements; ++k) {
    EGRET_ASSIGN_OR_RETURN(const Timing again, measure(plan, part));
    if (again.median_s < best.median_s) best = again;
  }
  return best;
}

CompileOptions profiling_options(const TimerOptions& options) {
  CompileOptions profiled = plan_options(options);
  profiled.profile = true;
  return profiled;
}

base::Result<std::unique_ptr<ExecutablePlan>> compile_profiled(const Backend& backend,
                                                               const ir::Graph& graph,
                                                               const TimerOptions& options) {
  return backend.compile(graph, profiling_options(options));
}

// The time of the kernels that compute operators, without reorders, with the spread of the whole
// plan. The start-up of a device belongs to no kernel.
base::Result<KernelSeconds> time_kernels(ExecutablePlan& plan, bool on_device,
                                         const TimerOptions& options) {
  KernelSeconds result_timing;
  MeasureOptions measuring = options.measure;
  measuring.threads = options.threads;
  EGRET_ASSIGN_OR_RETURN(result_timing.timing, quiet_timing(plan, on_device, measuring));
  const PlanReport report = plan.report();
  double kernels = 0, all = 0;
  for (const PlanReport::Kernel& kernel : report.kernels) {
    all += kernel.seconds;
    if (kernel.name == "reorder" || kernel.nodes.empty()) continue;
    kernels += kernel.seconds;
    result_timing.any_kernel = true;
  }
  result_timing.fallback = !report.fallbacks.empty();
  Timing& timing = result_timing.timing;
  if (on_device) all = timing.median_s;
  const double share = all > 0 ? kernels / all : 1;
  for (double* seconds : {&timing.median_s, &timing.p10_s, &timing.p90_s, &timing.mad_s})
    *seconds *= share;
  return result_timing;
}

// Of inputs and output; nullopt where sizes are not concrete.
std::optional<double> bytes_of(const Application& of, const ir::TensorType& type) {
  double bytes = static_cast<double>(type.is_concrete() ? type.bytes() : 0);
  for (const ir::TensorType& input : of.types) {
    if (!input.is_concrete()) return std::nullopt;
    bytes += static_cast<double>(input.bytes());
  }
  return bytes;
}

bool runs_on_device(const Backend& backend, const TimerOptions& options) {
  return backend.peak_rates(options.precision).has_value();
}

bool may_follow_relu(const Application& of, const ir::TensorType& type) {
  return !of.types.empty() && !of.is_constant(0) && of.types[0] == type &&
         type.dtype == ir::DType::kF32;
}

}  // namespace

void make_ready(const Backend& backend, std::span<const Application> applications,
                const TimerOptions& options) {
  if (!runs_on_device(backend, options)) return;  // a host has nothing to prepare
  std::vector<ir::Graph> graphs;
  double bytes = 0;
  for (const Application& of : applications) {
    const auto type = ir::infer_type(of.op, of.attrs, of.types);
    if (!type.ok()) continue;
    const auto own = bytes_of(of, *type);
    if (!own || bytes + *own > static_cast<double>(options.max_bytes)) continue;
    bytes += *own;
    for (const bool after_relu : {false, true}) {
      if (after_relu && !may_follow_relu(of, *type)) continue;
      auto graph = one_operator(of, after_relu, options.measure.seed);
      if (graph.ok()) graphs.push_back(*std::move(graph));
    }
  }
  backend.make_ready(graphs, profiling_options(options));
}

base::Result<OperatorTiming> time_operator(const Backend& backend, const ir::Operator& op,
                                           const ir::Attrs& attrs,
                                           std::span<const ir::TensorType> types,
                                           const std::vector<bool>& constant_mask,
                                           const TimerOptions& options) {
  EGRET_ASSIGN_OR_RETURN(const ir::TensorType type, ir::infer_type(op, attrs, types));
  const Application application{op, attrs, types, constant_mask};
  const auto bytes = bytes_of(application, type);
  if (!bytes) return base::unsupported("timing needs concrete sizes");
  if (*bytes > static_cast<double>(options.max_bytes)) {
    return base::limit_hit("timing " + op.name() + " would take " +
                           std::to_string(static_cast<std::int64_t>(*bytes)) + " bytes");
  }
  const std::uint64_t seed = options.measure.seed;
  EGRET_ASSIGN_OR_RETURN(const ir::Graph alone, one_operator(application, false, seed));
  const bool on_device = runs_on_device(backend, options);
  EGRET_ASSIGN_OR_RETURN(const auto alone_plan, compile_profiled(backend, alone, options));
  EGRET_ASSIGN_OR_RETURN(const KernelSeconds single, time_kernels(*alone_plan, on_device, options));
  OperatorTiming timing{.alone = single.timing, .fallback = single.fallback};
  timing.view = !single.any_kernel;
  if (timing.view) timing.alone = {.runs = single.timing.runs};
  timing.fused_s = timing.alone.median_s;

  if (types.size() > 1 && !timing.view) {
    EGRET_ASSIGN_OR_RETURN(const bool in_place,
                           is_written_in_place(backend, application, plan_options(options)));
    if (in_place) {
      timing.fused_s = on_device ? kLeastOnDevice : 0;
      return timing;
    }
  }

  // A device's library kernels read a moved value in place; emitted kernels always do.
  if (on_device && !timing.view) {
    EGRET_ASSIGN_OR_RETURN(const bool on_the_way,
                           is_read_in_place(backend, application, type, plan_options(options)));
    if (on_the_way) {
      timing.fused_s = kLeastOnDevice;
      return timing;
    }
  }

  // The fused time is the pair's time minus that of the relu alone, if the pair is one kernel.
  if (timing.view || !may_follow_relu(application, type)) return timing;
  EGRET_ASSIGN_OR_RETURN(const ir::Graph pair, one_operator(application, true, seed));
  EGRET_ASSIGN_OR_RETURN(const auto plan, compile_profiled(backend, pair, options));
  if (plan->report().kernels.size() != 1) return timing;
  const Application relu{ir::get_operator("relu"), {}, types.first(1), {}};
  EGRET_ASSIGN_OR_RETURN(const ir::Graph first_alone, one_operator(relu, false, seed));
  EGRET_ASSIGN_OR_RETURN(const auto before, compile_profiled(backend, first_alone, options));
  // Two plans with different inputs cannot take turns; both are the same streaming loop.
  EGRET_ASSIGN_OR_RETURN(const KernelSeconds together, time_kernels(*plan, on_device, options));
  EGRET_ASSIGN_OR_RETURN(const KernelSeconds first, time_kernels(*before, on_device, options));
  timing.fused_s = std::min(
      timing.alone.median_s,
      std::max(on_device ? kLeastOnDevice : 0.0, together.timing.median_s - first.timing.median_s));
  return timing;
}

}  // namespace egret::backends
