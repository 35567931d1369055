// SPDX-License-Identifier: Apache-2.0
#include "driver/track.h"

#include <algorithm>

#include "driver/load_in_engine.h"
#include "driver/measure/batch_plan.h"
#include "ir/ops/opaque.h"

namespace egret::driver {
namespace {

// Whether an engine can be given inputs, and its outputs be fetched.
bool has_known_types(const ir::Graph& graph) {
  return std::ranges::all_of(graph.inputs(),
                             [&](ir::NodeId id) { return graph.node(id).type.is_concrete(); }) &&
         std::ranges::all_of(graph.outputs(), [&](const ir::Graph::Output& output) {
           return graph.node(output.node).type.is_concrete();
         });
}

}  // namespace

Track::Track(const ir::Graph& program, const Setup& setup, const OptimizeOptions& options,
             const rules::OpenSizes* open)
    : program_(program),
      setup_(setup),
      options_(options),
      open_(open),
      undefined_(ir::has_undefined(program)) {
  if (!in_engine()) return;
  const frontends::OnnxModelInfo* info = options.written_like.get();
  const bool foreign =
      info != nullptr && (!info->foreign_inputs.empty() || !info->untyped_values.empty());
  const auto bound = open != nullptr ? rules::at_sizes(program, open->examples()) : program;
  whole_ = !foreign && bound.ok() && has_known_types(*bound);
}

base::Result<ir::Graph> Track::as_run(const ir::Graph& graph, const ir::SymbolValues* sizes) const {
  ir::Graph bound = graph;
  if (sizes != nullptr) {
    EGRET_ASSIGN_OR_RETURN(bound, rules::at_sizes(graph, *sizes));
  }
  return whole_ ? bound : ir::cut_at_opaque(bound);
}

base::Result<Track::Plan> Track::original_at(const ir::SymbolValues* sizes) const {
  EGRET_ASSIGN_OR_RETURN(const ir::Graph graph, as_run(program_, sizes));
  if (runs_given_file())
    return load_in_engine(*setup_.engine, *options_.model_file, graph, setup_.plan.threads);
  return compile_batch(backend(), graph, setup_.plan);
}

base::Result<Track::Plan> Track::original() const { return original_at(examples()); }

base::Result<Track::Plan> Track::original_at(const ir::SymbolValues& sizes) const {
  return original_at(&sizes);
}

base::Result<Track::Plan> Track::result_at(const ir::Graph& result,
                                           const ir::SymbolValues& sizes) const {
  EGRET_ASSIGN_OR_RETURN(const ir::Graph graph, as_run(result, &sizes));
  return compile_batch(backend(), graph, setup_.plan);
}

base::Status Track::compile(Candidate& candidate) const {
  if (candidate.plan != nullptr) return base::ok();
  if (!whole_ || candidate.written.size() == 0)
    return driver::compile(candidate, backend(), setup_.plan);
  EGRET_ASSIGN_OR_RETURN(const ir::Graph graph, as_run(candidate.written, examples()));
  EGRET_ASSIGN_OR_RETURN(candidate.plan, compile_batch(backend(), graph, setup_.plan));
  return base::ok();
}

}  // namespace egret::driver
