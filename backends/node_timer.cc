// SPDX-License-Identifier: Apache-2.0
#include "backends/node_timer.h"

#include <algorithm>
#include <string>

#include "ir/builder.h"

namespace egret::backends {
namespace {

// The graph of one application of the operator, its first input straight or behind a relu, which
// an operator that joins regions is fused with.
base::Result<ir::Graph> one_operator(const ir::Operator& op, const ir::Attrs& attrs,
                                     std::span<const ir::TensorType> types,
                                     const std::vector<bool>& constant_mask, bool after_relu,
                                     std::uint64_t seed) {
  ir::GraphBuilder builder;
  base::Random random(seed);
  std::vector<ir::Value> inputs;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (i < constant_mask.size() && constant_mask[i]) {
      inputs.push_back(builder.constant(ir::Tensor::random(types[i], random)));
    } else {
      inputs.push_back(builder.input("x" + std::to_string(i), types[i]));
    }
  }
  if (after_relu) inputs[0] = builder.add("relu", {inputs[0]});
  builder.output("y", builder.add(op, inputs, attrs));
  return builder.finish();
}

// An operator by itself has little that its kernel's memory could be small beside: as in a large
// graph, which does not spare it.
PlanOptions plan_options(const TimerOptions& options) {
  return {.threads = options.threads, .precision = options.precision, .thrift = false};
}

// Whether a plan needs no kernel at all for the operator once its inputs are computed by kernels
// and not given: a concatenation whose parts are written in their places. Parts of rank 4 come from
// convolutions, whose layouts then decide.
base::Result<bool> is_absorbed(const Backend& backend, const ir::Operator& op,
                               const ir::Attrs& attrs, std::span<const ir::TensorType> types,
                               const std::vector<bool>& constant_mask,
                               const TimerOptions& options) {
  constexpr std::int64_t kChannels = 16;
  ir::GraphBuilder builder;
  base::Random random(options.measure.seed);
  std::vector<ir::Value> inputs;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const bool constant = i < constant_mask.size() && constant_mask[i];
    if (constant || types[i].dtype != ir::DType::kF32) return false;
    const std::string name = "x" + std::to_string(i);
    if (types[i].rank() == 4) {
      const ir::Shape shape = types[i].shape();
      const ir::TensorType given(ir::DType::kF32,
                                 ir::Shape{shape[0], kChannels, shape[2], shape[3]});
      const ir::TensorType weights(ir::DType::kF32, ir::Shape{shape[1], kChannels, 1, 1});
      const ir::Integers ones{1, 1};
      const ir::Value w = builder.constant(ir::Tensor::random(weights, random));
      inputs.push_back(builder.add(
          "conv", {builder.input(name, given), w},
          {{"strides", ones}, {"dilations", ones}, {"pads", ir::Integers{0, 0, 0, 0}}}));
    } else {
      inputs.push_back(builder.add("relu", {builder.input(name, types[i])}));
    }
  }
  const ir::Value result = builder.add(op, inputs, attrs);
  // A reader of its own, as in a graph: an output would have to be copied out.
  builder.output("y", builder.add("relu", {result}));
  EGRET_ASSIGN_OR_RETURN(const ir::Graph graph, builder.finish());
  EGRET_ASSIGN_OR_RETURN(const auto plan, backend.compile(graph, plan_options(options)));
  const PlanReport report = plan->report();
  return std::ranges::none_of(report.kernels, [&](const PlanReport::Kernel& kernel) {
    return std::ranges::any_of(kernel.ids, [&](const ir::NodeId id) {
      return graph.node(id).kind == ir::NodeKind::kOperator && graph.node(id).op == &op;
    });
  });
}

struct KernelSeconds {
  Timing timing;
  bool any_kernel = false;
  bool fallback = false;
};

// A neighbour on the machine slows a measurement down for some tens of milliseconds, never speeds
// it up: of several short measurements the one with the least median is the operator's.
//
// Inputs lie in the caches as far as they fit. Weights come from memory, as those of a graph do;
// to sweep the caches takes longer than most kernels, hence fewer runs.
base::Result<Timing> quiet_timing(Plan& plan, const MeasureOptions& options) {
  constexpr int kMeasurements = 3;
  constexpr std::int64_t kFewWeights = 32 << 10;  // bytes that other kernels leave in the caches
  MeasureOptions part = options;
  part.rotate_bytes = 0;
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

// The kernels that compute the operators, without reorders; with the spread of the whole plan.
base::Result<KernelSeconds> time_kernels(const Backend& backend, const ir::Graph& graph,
                                         const TimerOptions& options) {
  PlanOptions profiled = plan_options(options);
  profiled.profile = true;
  EGRET_ASSIGN_OR_RETURN(const auto plan, backend.compile(graph, profiled));
  KernelSeconds result_timing;
  EGRET_ASSIGN_OR_RETURN(result_timing.timing, quiet_timing(*plan, options.measure));
  const PlanReport report = plan->report();
  double kernels = 0, all = 0;
  for (const PlanReport::Kernel& kernel : report.kernels) {
    all += kernel.seconds;
    if (kernel.name == "reorder") continue;
    kernels += kernel.seconds;
    result_timing.any_kernel = true;
  }
  result_timing.fallback = !report.fallbacks.empty();
  const double share = all > 0 ? kernels / all : 1;
  Timing& timing = result_timing.timing;
  for (double* seconds : {&timing.median_s, &timing.p10_s, &timing.p90_s, &timing.mad_s})
    *seconds *= share;
  return result_timing;
}

}  // namespace

base::Result<OperatorTiming> time_operator(const Backend& backend, const ir::Operator& op,
                                           const ir::Attrs& attrs,
                                           std::span<const ir::TensorType> types,
                                           const std::vector<bool>& constant_mask,
                                           const TimerOptions& options) {
  EGRET_ASSIGN_OR_RETURN(const ir::TensorType type, ir::infer_type(op, attrs, types));
  double bytes = static_cast<double>(type.is_concrete() ? type.bytes() : 0);
  for (const ir::TensorType& input : types) {
    if (!input.is_concrete()) return base::unsupported("timing needs concrete sizes");
    bytes += static_cast<double>(input.bytes());
  }
  if (bytes > static_cast<double>(options.max_bytes)) {
    return base::limit_hit("timing " + op.name() + " would take " +
                           std::to_string(static_cast<std::int64_t>(bytes)) + " bytes");
  }
  const std::uint64_t seed = options.measure.seed;
  EGRET_ASSIGN_OR_RETURN(const ir::Graph alone,
                         one_operator(op, attrs, types, constant_mask, false, seed));
  EGRET_ASSIGN_OR_RETURN(const KernelSeconds single, time_kernels(backend, alone, options));
  OperatorTiming timing{.alone = single.timing, .fallback = single.fallback};
  timing.view = !single.any_kernel;
  if (timing.view) timing.alone = {.runs = single.timing.runs};
  timing.fused_s = timing.alone.median_s;

  if (types.size() > 1 && !timing.view) {
    EGRET_ASSIGN_OR_RETURN(const bool absorbed,
                           is_absorbed(backend, op, attrs, types, constant_mask, options));
    if (absorbed) {
      timing.fused_s = 0;
      return timing;
    }
  }

  // Behind a relu of the same shape, which is itself a kernel when nothing is fused with it.
  const bool first_is_input = constant_mask.empty() || !constant_mask[0];
  if (timing.view || types.empty() || !first_is_input || types[0] != type ||
      type.dtype != ir::DType::kF32)
    return timing;
  EGRET_ASSIGN_OR_RETURN(const ir::Graph pair,
                         one_operator(op, attrs, types, constant_mask, true, seed));
  EGRET_ASSIGN_OR_RETURN(const auto plan, backend.compile(pair, plan_options(options)));
  if (plan->report().kernels.size() != 1) return timing;
  EGRET_ASSIGN_OR_RETURN(const ir::Graph relu, one_operator(ir::get_operator("relu"), {},
                                                            types.first(1), {}, false, seed));
  EGRET_ASSIGN_OR_RETURN(const auto before, backend.compile(relu, {.threads = options.threads}));
  // Two plans with different inputs cannot take turns; both are the same streaming loop.
  EGRET_ASSIGN_OR_RETURN(const Timing together, quiet_timing(*plan, options.measure));
  EGRET_ASSIGN_OR_RETURN(const Timing first, quiet_timing(*before, options.measure));
  timing.fused_s = std::clamp(together.median_s - first.median_s, 0.0, timing.alone.median_s);
  return timing;
}

}  // namespace egret::backends
