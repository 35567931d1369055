// SPDX-License-Identifier: Apache-2.0
#include "driver/select/divided_times.h"

#include <utility>

#include "backends/layout_forms.h"

namespace egret::driver {

KernelTimes kernel_times(const ir::Graph& graph, const backends::Division& division,
                         std::span<const double> seconds,
                         const backends::DivisionLayouts& layouts) {
  KernelTimes times;
  for (std::size_t k = 0; k < division.size(); ++k) {
    times.seconds += seconds[k];
    if (division[k].empty()) continue;  // computed from weights
    KernelTime& kernel = times.kernels.emplace_back();
    kernel.name = graph.node(division[k].front()).op->name();
    for (const ir::NodeId id : division[k]) kernel.nodes.push_back(backends::node_label(graph, id));
    kernel.seconds = seconds[k];
  }
  for (std::size_t k = 0; k < layouts.reorders.size(); ++k) {
    const backends::Reorder& reorder = layouts.reorders[k];
    times.kernels.push_back(
        {.name = "reorder",
         .implementation = to_string(backends::KernelLayouts{reorder.from, reorder.to}),
         .seconds = seconds[division.size() + k]});
    times.seconds += times.kernels.back().seconds;
  }
  times.whole = times.seconds;
  return times;
}

KernelTimes kernel_times(const ir::Graph& graph, const backends::Division& division,
                         const PartTimes& times, const backends::DivisionLayouts& layouts) {
  KernelTimes result = kernel_times(graph, division, std::span<const double>(times.parts), layouts);
  result.seconds += times.rest;
  result.whole = times.whole;
  result.measured = true;
  return result;
}

Prediction prediction_of(KernelTimes times) {
  return {.seconds = times.whole,
          .estimated = times.measured ? 0 : std::ssize(times.kernels),
          .operators = std::move(times.kernels)};
}

base::Result<Prediction> predict_as_divided(const ir::Graph& graph,
                                            const backends::Backend& backend,
                                            const backends::CompileOptions& plan,
                                            const KeptTimes& kept) {
  backends::CompileOptions divided = plan;
  EGRET_ASSIGN_OR_RETURN(divided.division, backend.divide(graph, plan));
  EGRET_ASSIGN_OR_RETURN(const auto known, kept_part_times(backend, graph, divided, kept));
  if (!known) return base::internal_error("a program was not measured");
  return prediction_of(kernel_times(graph, divided.division, known->times));
}

}  // namespace egret::driver
