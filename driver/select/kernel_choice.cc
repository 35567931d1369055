// SPDX-License-Identifier: Apache-2.0
#include "driver/select/kernel_choice.h"

#include <limits>
#include <utility>

#include "base/stop.h"
#include "driver/select/kernel_search.h"
#include "driver/select/precision_search.h"
#include "rules/tensors/tensor_egraph.h"

namespace egret::driver {
namespace {

// Of the time, for the kernels of single graphs, in equal parts.
constexpr double kShareOfGraphs = 0.6;

// Infinite for all nodes but those of the program.
std::vector<double> factors_of(const rules::TensorEGraph& tensors, const egraph::EGraphView& view,
                               const GivenProgram& program) {
  std::vector<double> factors(view.node_count(), std::numeric_limits<double>::infinity());
  for (const egraph::NodeId origin : program.origins) {
    const auto node = origin.valid() ? view_node(tensors, view, origin) : std::nullopt;
    if (node) factors[*node] = 1;
  }
  return factors;
}

}  // namespace

base::Result<KernelChoice> choose_kernels(const rules::TensorEGraph& tensors,
                                          const egraph::EGraphView& view, cost::Model& model,
                                          std::span<const GivenProgram> given,
                                          const KernelChoiceOptions& options,
                                          base::ProgressSink* sink) {
  // Asked once, so that a backend without divisions is found before any work.
  EGRET_RETURN_IF_ERROR(options.backend->divide(ir::Graph(), options.plan).status());
  EGRET_ASSIGN_OR_RETURN(std::vector<double> costs, price_nodes(tensors, view, model));
  SearchedEGraph searched{
      .tensors = tensors,
      .view = view,
      .leaves = leaves_of(tensors, view),
      .costs = std::move(costs),
      .times = PieceTimes(tensors, view, *options.backend, options.plan, options.kept)};
  if (options.error_budget != nullptr)
    return PrecisionSearch(searched, options, options.seconds, options.factors, sink).run(given);
  std::vector<std::size_t> started;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i].is_start) started.push_back(i);
  }
  if (options.only_graph && !given.empty()) {
    KernelSearch search(searched, options, options.seconds,
                        factors_of(tensors, view, given.front()), sink);
    return search.run(given.first(1));
  }
  std::vector<KernelStart> starts;
  for (const std::size_t place : started) {
    const double share = kShareOfGraphs * static_cast<double>(starts.size() + 1) /
                         static_cast<double>(started.size());
    KernelSearch search(searched, options, share * options.seconds,
                        factors_of(tensors, view, given[place]), sink);
    EGRET_RETURN_IF_ERROR(search.run(given.subspan(place, 1)).status());
    starts.push_back(search.answer());
  }
  return KernelSearch(searched, options, options.seconds, options.factors, sink)
      .run(given, std::move(starts), started);
}

}  // namespace egret::driver
