// SPDX-License-Identifier: Apache-2.0
#include "driver/select/kernel_choice.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "backends/layout_forms.h"
#include "base/stop.h"
#include "driver/select/kernel_search.h"
#include "driver/select/layout_search.h"
#include "driver/select/precision_search.h"
#include "rules/tensors/tensor_egraph.h"

namespace egret::driver {
namespace {

// Of the time, for the kernels of single graphs, in equal parts.
constexpr double kShareOfGraphs = 0.6;
// Of the time, for kernels in the backend's own layouts, where layouts are chosen afterwards.
constexpr double kShareOfDivision = 0.6;

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

// The answer of the fastest start, as that of a search through all given programs.
std::optional<KernelChoice> best_of(std::span<const KernelStart> starts,
                                    std::span<const std::size_t> places, std::size_t given) {
  if (starts.empty()) return std::nullopt;
  const auto is_faster = [](const KernelStart& a, const KernelStart& b) {
    if (a.choice.times.measured != b.choice.times.measured) return a.choice.times.measured;
    return a.choice.times.seconds < b.choice.times.seconds;
  };
  const auto fastest =
      static_cast<std::size_t>(std::ranges::min_element(starts, is_faster) - starts.begin());
  KernelChoice choice = starts[fastest].choice;
  if (choice.given) choice.given = places[fastest];
  choice.times_of_given.assign(given, {});
  for (std::size_t i = 0; i < starts.size(); ++i)
    choice.times_of_given[places[i]] = starts[i].choice.times_of_given.front();
  return choice;
}

// From the answer in the backend's own layouts. One that was interrupted is that answer.
KernelChoice laid_out(SearchedEGraph& searched, const KernelChoiceOptions& options,
                      std::vector<double> factors, KernelStart start, base::ProgressSink* sink) {
  KernelChoice before = start.choice;
  LayoutSearch search(searched, options, options.seconds, std::move(factors), sink);
  auto choice = search.run_from(std::move(start));
  if (choice.ok()) return *std::move(choice);
  if (!base::stop_requested())
    before.solution.notes.push_back("no layouts were chosen: " + choice.status().message());
  return before;
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
  const bool lays_out = options.lays_out && backends::layout_forms_of(*options.backend) != nullptr;
  const double divided_s = (lays_out ? kShareOfDivision : 1) * options.seconds;
  if ((options.only_graph || options.keep_division) && !given.empty()) {
    const std::vector<double> factors = factors_of(tensors, view, given.front());
    KernelSearch search(searched, options, divided_s, factors, sink);
    auto choice = search.run(given.first(1));
    if (!choice.ok() || !lays_out) return choice;
    return laid_out(searched, options, factors, search.answer(), sink);
  }
  std::vector<KernelStart> starts;
  std::vector<std::size_t> places, skipped;
  std::vector<std::string> notes;
  for (std::size_t i = 0; i < started.size(); ++i) {
    const std::size_t place = started[i];
    const double share =
        kShareOfGraphs * static_cast<double>(i + 1) / static_cast<double>(started.size());
    KernelSearch search(searched, options, share * divided_s,
                        factors_of(tensors, view, given[place]), sink);
    const base::Status ran = search.run(given.subspan(place, 1)).status();
    if (ran.ok()) {
      places.push_back(place);
      starts.push_back(search.answer());
      continue;
    }
    if (base::stop_requested()) return ran;
    skipped.push_back(place);
    notes.push_back("no kernels were chosen for one given program alone: " + ran.message());
  }
  std::optional<KernelChoice> best = best_of(starts, places, given.size());
  // A program that failed is not run again.
  places.insert(places.end(), skipped.begin(), skipped.end());
  KernelSearch whole(searched, options, divided_s, options.factors, sink);
  base::Result<KernelChoice> choice = whole.run(given, std::move(starts), places);
  if (!choice.ok()) {
    if (!best || base::stop_requested()) return choice;
    notes.push_back("no kernels were chosen from the whole e-graph: " + choice.status().message());
    choice = *std::move(best);
  } else if (lays_out) {
    choice = laid_out(searched, options, options.factors, whole.answer(), sink);
  }
  choice->solution.notes.insert(choice->solution.notes.end(), notes.begin(), notes.end());
  return choice;
}

}  // namespace egret::driver
