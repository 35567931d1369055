// SPDX-License-Identifier: Apache-2.0
#include "driver/select/candidate.h"

#include <algorithm>
#include <utility>

#include "backends/division.h"
#include "base/stop.h"
#include "driver/measure/batch_plan.h"
#include "driver/measure/kept_times.h"
#include "driver/measure/race.h"
#include "frontends/onnx.h"
#include "ir/ops/opaque.h"

namespace egret::driver {

base::Result<ir::Graph> runnable(const ir::Graph& graph, const rules::OpenSizes* open) {
  if (open == nullptr) return ir::cut_at_opaque(graph);
  EGRET_ASSIGN_OR_RETURN(const ir::Graph bound, rules::at_sizes(graph, open->examples()));
  return ir::cut_at_opaque(bound);
}

void take_signature_of(const ir::Graph& original, Candidate& candidate) {
  ir::Graph runs = ir::cut_like(candidate.graph, original);
  if (runs.inputs().size() == candidate.graph.inputs().size() &&
      runs.outputs().size() == candidate.graph.outputs().size())
    return;
  if (candidate.written.size() == 0) candidate.written = std::move(candidate.graph);
  candidate.graph = std::move(runs);
  candidate.plan.reset();  // of the graph as it was
}

int operator_count(const std::map<std::string, int>& by_type) {
  int sum = 0;
  for (const auto& [type, count] : by_type) sum += count;
  return sum;
}

// Constants are folded first, so graphs that differ only in what is computed from weights are one
// candidate. Duplicates by identity are dropped: a race of equal graphs decides nothing.
base::Status CandidatePool::add(Candidate candidate, const ir::Graph& graph) {
  auto folded =
      rules::fold_constants(graph, {.should_stop = base::stop_requested, .known = &folded_});
  if (folded.ok()) {
    candidate.graph = *std::move(folded);
  } else if (base::stop_requested()) {
    candidate.graph = graph;  // the race will not take place either
  } else {
    return folded.status();
  }
  if (forbidden_.any_in(candidate.graph)) return base::ok();
  candidate.extracted = std::make_shared<const ir::Graph>(graph);
  // The division of the program that was given is not that of another graph.
  candidate.graph.metadata.erase(std::string(backends::kKernelsKey));
  candidate.made_by = carried_over(candidate.made_by, graph, candidate.graph);
  EGRET_ASSIGN_OR_RETURN(candidate.operators, frontends::count_onnx_operators(candidate.graph));
  if (open_ != nullptr || ir::has_opaque(candidate.graph)) {
    candidate.written = std::move(candidate.graph);
    EGRET_ASSIGN_OR_RETURN(candidate.graph, runnable(candidate.written, open_));
  }
  candidate.identity = identity_of(candidate.graph);
  const auto same = std::ranges::find(candidates_, candidate.identity, &Candidate::identity);
  if (same != candidates_.end()) return base::ok();
  EGRET_ASSIGN_OR_RETURN(candidate.prediction, predict(candidate.graph, model_, profiler_));
  candidates_.push_back(std::move(candidate));
  return base::ok();
}

base::Status CandidatePool::predict_again() {
  for (Candidate& candidate : candidates_) {
    EGRET_ASSIGN_OR_RETURN(candidate.prediction, predict(candidate.graph, model_, profiler_));
  }
  return base::ok();
}

base::Status CandidatePool::add_divided(Candidate candidate) {
  EGRET_ASSIGN_OR_RETURN(candidate.operators, frontends::count_onnx_operators(candidate.graph));
  candidate.graph.metadata.erase(std::string(backends::kKernelsKey));
  candidate.identity = identity_of(candidate.graph) + identity_of(candidate.division) +
                       identity_of(candidate.layouts);
  // It goes first: of all candidates, it alone was chosen by what runs.
  candidates_.insert(candidates_.begin(), std::move(candidate));
  return base::ok();
}

base::Status compile(Candidate& candidate, const backends::Backend& backend,
                     const backends::CompileOptions& options) {
  if (candidate.plan != nullptr) return base::ok();
  backends::CompileOptions divided = options;
  divided.division = candidate.division;
  divided.layouts = candidate.layouts;
  EGRET_ASSIGN_OR_RETURN(candidate.plan, compile_batch(backend, candidate.graph, divided));
  return base::ok();
}

}  // namespace egret::driver
