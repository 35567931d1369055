// SPDX-License-Identifier: Apache-2.0
#include "driver/track.h"

#include <algorithm>

#include "backends/timing/measure.h"
#include "driver/engine_signature.h"
#include "driver/load_in_engine.h"
#include "driver/measure/batch_plan.h"
#include "ir/evaluate/given_inputs.h"
#include "ir/evaluate/input_draws.h"
#include "ir/ops/opaque.h"

namespace egret::driver {

Track::Track(const ir::Graph& program, const ir::Graph& original, const Setup& setup,
             const OptimizeOptions& options, const rules::OpenSizes* open)
    : program_(program),
      setup_(setup),
      options_(options),
      open_(open),
      undefined_(original.inputs().size() != program.inputs().size()) {
  if (!in_engine()) return;
  // The program's inputs are the first ones of the original.
  draws_ = ir::input_draws(original);
  draws_.resize(program.inputs().size());
  const EngineSignature seen =
      engine_signature(program, options.written_like.get(), draws_, examples());
  whole_ = seen.takes_inputs;
  knows_outputs_ = seen.unknown_outputs.empty();
}

// The inputs of the program, and its outputs if they are to be fetched.
ir::Graph Track::signature(const ir::SymbolValues& sizes) const {
  return engine_signature(program_, options_.written_like.get(), draws_, sizes, knows_outputs_)
      .graph;
}

base::Result<Track::Plan> Track::plan_of(const ir::Graph& graph,
                                         const ir::SymbolValues& sizes) const {
  if (whole_) return setup_.engine->compile_open(graph, signature(sizes), setup_.plan);
  const auto cut = [&](const ir::Graph& one) -> base::Result<ir::Graph> {
    if (open_ == nullptr) return ir::cut_at_opaque(one);
    EGRET_ASSIGN_OR_RETURN(const ir::Graph bound, rules::at_sizes(one, sizes));
    return ir::cut_at_opaque(bound);
  };
  EGRET_ASSIGN_OR_RETURN(ir::Graph runs, cut(graph));
  if (&graph != &program_ && ir::has_undefined(program_)) {
    EGRET_ASSIGN_OR_RETURN(const ir::Graph original, cut(program_));
    runs = ir::cut_like(runs, original);
  }
  return compile_batch(backend(), runs, setup_.plan);
}

base::Result<Track::Plan> Track::original_at(const ir::SymbolValues& sizes) const {
  if (!runs_given_file()) return plan_of(program_, sizes);
  return load_in_engine(*setup_.engine, *options_.model_file, signature(sizes),
                        {.threads = setup_.plan.threads});
}

base::Result<Track::Plan> Track::original() {
  EGRET_ASSIGN_OR_RETURN(Plan plan, original_at(examples()));
  if (!whole_) return plan;
  const auto given = ir::given_by_position(program_, options_.given_inputs);
  const auto runs = [&](backends::ExecutablePlan& one) {
    std::vector<ir::Tensor> inputs = backends::random_inputs(one, base::Random(1));
    for (const auto& [place, value] : given) inputs[place] = value;
    return one.run(inputs).status();
  };
  bool has_integers = false;
  const std::vector<ir::Draw> usual = draws_;
  for (std::size_t i = 0; i < draws_.size(); ++i) {
    if (!ir::is_integer(program_.node(program_.inputs()[i]).type.dtype)) continue;
    draws_[i] = {.low = 0, .high = 1};
    has_integers = true;
  }
  if (has_integers && !runs(*plan).ok()) {
    EGRET_ASSIGN_OR_RETURN(Plan narrow, original_at(examples()));
    if (runs(*narrow).ok()) return narrow;
  }
  draws_ = usual;  // the race reports why the plan fails
  return plan;
}

base::Result<Track::Plan> Track::result_at(const ir::Graph& result,
                                           const ir::SymbolValues& sizes) const {
  return plan_of(result, sizes);
}

base::Status Track::compile(Candidate& candidate) const {
  if (candidate.plan != nullptr) return base::ok();
  if (!whole_) return driver::compile(candidate, backend(), setup_.plan);
  const ir::Graph& graph = candidate.written.size() > 0 ? candidate.written : candidate.graph;
  EGRET_ASSIGN_OR_RETURN(candidate.plan, plan_of(graph, examples()));
  return base::ok();
}

}  // namespace egret::driver
