// SPDX-License-Identifier: Apache-2.0
#include "driver/select/memory_fit.h"

#include <algorithm>
#include <limits>
#include <string>

#include "base/formats/units.h"
#include "base/stop.h"
#include "base/timer.h"
#include "driver/select/memory_bound.h"
#include "rules/tensors/term_graph.h"

namespace egret::driver {
namespace {

constexpr double kRaise = 2;
constexpr double kForbidden = std::numeric_limits<double>::infinity();
constexpr int kMaxRaises = 100;  // in vain: what takes too much cannot be avoided

constexpr base::ProgressColumn kBytes{"arena_bytes", "arena", base::ProgressColumn::Unit::kBytes,
                                      "activations and scratch space of the last graph"};

// Extraction cannot bound the peak memory, which depends on the schedule. The fitter therefore
// steers it by prices, compiles each selection and reads the peak from the plan. It starts from
// both ends: from the cheapest graph, and from the program itself.
class Fitter {
 public:
  Fitter(rules::TensorEGraph& tensors, const egraph::EGraphView& view, cost::Model& model,
         Profiler& profiler, const MemoryFitOptions& options, base::ProgressSink* sink)
      : tensors_(tensors),
        view_(view),
        model_(model),
        profiler_(profiler),
        options_(options),
        sink_(sink),
        deadline_(base::Deadline::after(options.seconds / 2)) {
    result_.least_bytes = std::numeric_limits<std::int64_t>::max();
  }

  base::Result<MemoryFitResult> run() {
    // What plans in less than f32 hold may be smaller than its type says: nothing is known then.
    const bool as_typed = options_.plan.precision == backends::Precision::kF32;
    const std::vector<std::int64_t> held = as_typed
                                               ? held_bytes(tensors_, view_, *options_.backend)
                                               : std::vector<std::int64_t>(view_.node_count(), 0);
    result_.bound_bytes = least_arena(view_, held);
    if (result_.bound_bytes > options_.limit_bytes) return std::move(result_);
    base_ = options_.selection.factors;
    base_.resize(held.size(), 1);
    for (std::size_t node = 0; node < held.size(); ++node) {
      if (held[node] > options_.limit_bytes) base_[node] = kForbidden;
    }
    raised_ = base_;
    EGRET_RETURN_IF_ERROR(from_cheapest());
    deadline_ = base::Deadline::after(options_.seconds / 2);
    EGRET_RETURN_IF_ERROR(from_program());
    return std::move(result_);
  }

 private:
  struct Attempt {
    SelectionResult selected;
    std::int64_t bytes = 0;
    std::vector<extract::NodeIndex> at_peak;
  };

  // One graph is planned however little time there is.
  bool late() const {
    return (result_.planned > 0 && deadline_.expired()) || base::stop_requested();
  }

  base::Result<Attempt> plan() {
    SelectionOptions selection = options_.selection;
    selection.factors = raised_;
    Attempt attempt;
    EGRET_ASSIGN_OR_RETURN(attempt.selected,
                           select(tensors_, view_, model_, profiler_, selection, sink_));
    // Prices without the factors make attempts comparable.
    EGRET_ASSIGN_OR_RETURN(const std::vector<double> costs, price_nodes(tensors_, view_, model_));
    const std::vector<extract::NodeIndex> choice = attempt.selected.solution.choice;
    attempt.selected.solution = extract::solution_of({view_, costs}, choice);
    EGRET_ASSIGN_OR_RETURN(const ir::Graph graph,
                           tensors_.to_graph(tensors_.from_view(view_, choice)));
    EGRET_ASSIGN_OR_RETURN(const auto compiled, options_.backend->compile(graph, options_.plan));
    const backends::PlanReport report = compiled->report();
    attempt.bytes = report.arena_bytes;
    const std::vector<egraph::ClassId> class_of = rules::terms_of(tensors_, graph);
    // From the nodes of the compiled graph back to the chosen e-nodes.
    for (const ir::NodeId id : report.peak_nodes) {
      const egraph::ClassId of = class_of[id.index()];
      const auto at = std::ranges::lower_bound(view_.class_id, of);
      if (!of.valid() || at == view_.class_id.end() || *at != of) continue;
      const auto node = choice[static_cast<std::size_t>(at - view_.class_id.begin())];
      if (node != extract::kNoNode) attempt.at_peak.push_back(node);
    }
    ++result_.planned;
    result_.least_bytes = std::min(result_.least_bytes, attempt.bytes);
    base::Progress(sink_, "fit")
        .report({{base::kIteration, result_.planned}, {kBytes, attempt.bytes}});
    return attempt;
  }

  bool fits(const Attempt& attempt) const { return attempt.bytes <= options_.limit_bytes; }
  void keep(Attempt attempt) {
    const bool cheaper = !result_.fit || attempt.selected.solution.dag_cost <
                                             result_.fit->selected.solution.dag_cost;
    if (cheaper) result_.fit = MemoryFit{std::move(attempt.selected), attempt.bytes};
  }

  // Raises the prices of the nodes that are live at the peak until a selection fits.
  base::Status from_cheapest() {
    for (int raise = 0; raise < kMaxRaises && !result_.fit && !late(); ++raise) {
      EGRET_ASSIGN_OR_RETURN(Attempt attempt, plan());
      if (fits(attempt)) {
        keep(std::move(attempt));
      } else {
        for (const extract::NodeIndex node : attempt.at_peak) raised_[node] *= kRaise;
      }
    }
    return result_.fit ? give_back() : base::ok();
  }

  // Starts with very high prices on all nodes that rules made, and lowers them in blocks. A block
  // that makes the plan too large is taken back and halved, as in delta debugging.
  base::Status from_program() {
    std::vector<extract::NodeIndex> made;  // by class
    raised_ = base_;
    for (extract::NodeIndex node = 0; node < view_.node_count(); ++node) {
      if (raised_[node] == kForbidden || !made_by_rule(tensors_, view_, node)) continue;
      raised_[node] = kTooDear;
      made.push_back(node);
    }
    EGRET_ASSIGN_OR_RETURN(Attempt program, plan());
    if (!fits(program)) return base::ok();
    keep(std::move(program));
    std::vector<std::span<const extract::NodeIndex>> blocks{made};
    for (std::size_t next = 0; next < blocks.size() && !late(); ++next) {
      const auto block = blocks[next];
      for (const extract::NodeIndex node : block) raised_[node] = 1;
      EGRET_ASSIGN_OR_RETURN(Attempt attempt, plan());
      if (fits(attempt)) {
        keep(std::move(attempt));
        continue;
      }
      for (const extract::NodeIndex node : block) raised_[node] = kTooDear;
      if (block.size() < 2) continue;
      blocks.push_back(block.first(block.size() / 2));
      blocks.push_back(block.subspan(block.size() / 2));
    }
    return base::ok();
  }

  // Takes raised prices back one by one, the highest first, and keeps each change that still fits:
  // some raises were not necessary.
  base::Status give_back() {
    std::vector<extract::NodeIndex> nodes;
    for (extract::NodeIndex node = 0; node < view_.node_count(); ++node) {
      if (raised_[node] != base_[node]) nodes.push_back(node);
    }
    std::ranges::stable_sort(nodes, std::ranges::greater{},
                             [&](extract::NodeIndex node) { return raised_[node]; });
    for (const extract::NodeIndex node : nodes) {
      if (late()) break;
      const double before = std::exchange(raised_[node], 1);
      EGRET_ASSIGN_OR_RETURN(Attempt attempt, plan());
      if (fits(attempt)) {
        keep(std::move(attempt));
      } else {
        raised_[node] = before;
      }
    }
    return base::ok();
  }

  rules::TensorEGraph& tensors_;
  const egraph::EGraphView& view_;
  cost::Model& model_;
  Profiler& profiler_;
  const MemoryFitOptions& options_;
  base::ProgressSink* sink_;
  base::Deadline deadline_;
  std::vector<double> base_;    // by node of the view: kForbidden where it takes too much alone
  std::vector<double> raised_;  // factors on prices
  MemoryFitResult result_;
};

}  // namespace

base::Result<MemoryFitResult> fit_memory(rules::TensorEGraph& tensors,
                                         const egraph::EGraphView& view, cost::Model& model,
                                         Profiler& profiler, const MemoryFitOptions& options,
                                         base::ProgressSink* sink) {
  return Fitter(tensors, view, model, profiler, options, sink).run();
}

base::Status nothing_fits(const MemoryFitResult& found, std::int64_t limit_bytes) {
  const std::string limit = base::format_bytes(static_cast<double>(limit_bytes));
  if (found.bound_bytes > limit_bytes)
    return base::unsupported("the activations of every equivalent graph exceed " + limit +
                             ": each graph has an operator that alone takes " +
                             base::format_bytes(static_cast<double>(found.bound_bytes)) +
                             " or more");
  return base::unsupported("of " + std::to_string(found.planned) +
                           " equivalent graphs, none keeps its activations within " + limit +
                           "; the least takes " +
                           base::format_bytes(static_cast<double>(found.least_bytes)));
}

}  // namespace egret::driver
