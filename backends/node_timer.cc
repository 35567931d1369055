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

struct KernelSeconds {
  Timing timing;
  bool any_kernel = false;
  bool fallback = false;
};

// The kernels that compute the operators, without reorders; with the spread of the whole plan.
base::Result<KernelSeconds> time_kernels(const Backend& backend, const ir::Graph& graph,
                                         const TimerOptions& options) {
  EGRET_ASSIGN_OR_RETURN(const auto plan,
                         backend.compile(graph, {.threads = options.threads, .profile = true}));
  EGRET_ASSIGN_OR_RETURN(KernelSeconds result_timing, [&]() -> base::Result<KernelSeconds> {
    EGRET_ASSIGN_OR_RETURN(const Timing timing, measure(*plan, options.measure));
    return KernelSeconds{timing};
  }());
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

  // Behind a relu of the same shape, which is itself a kernel when nothing is fused with it.
  const bool first_is_input = constant_mask.empty() || !constant_mask[0];
  if (timing.view || types.empty() || !first_is_input || types[0] != type ||
      type.dtype != ir::DType::kF32)
    return timing;
  EGRET_ASSIGN_OR_RETURN(const ir::Graph pair,
                         one_operator(op, attrs, types, constant_mask, true, seed));
  EGRET_ASSIGN_OR_RETURN(const auto plan, backend.compile(pair, {.threads = options.threads}));
  if (plan->report().kernels.size() != 1) return timing;
  EGRET_ASSIGN_OR_RETURN(const ir::Graph relu, one_operator(ir::get_operator("relu"), {},
                                                            types.first(1), {}, false, seed));
  EGRET_ASSIGN_OR_RETURN(const auto before, backend.compile(relu, {.threads = options.threads}));
  // Two plans with different inputs cannot take turns; both are the same streaming loop.
  EGRET_ASSIGN_OR_RETURN(const Timing together, measure(*plan, options.measure));
  EGRET_ASSIGN_OR_RETURN(const Timing first, measure(*before, options.measure));
  timing.fused_s = std::clamp(together.median_s - first.median_s, 0.0, timing.alone.median_s);
  return timing;
}

}  // namespace egret::backends
