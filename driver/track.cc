// SPDX-License-Identifier: Apache-2.0
#include "driver/track.h"

#include <algorithm>
#include <map>
#include <string>

#include "backends/timing/measure.h"
#include "driver/load_in_engine.h"
#include "driver/measure/batch_plan.h"
#include "ir/evaluate/given_inputs.h"
#include "ir/evaluate/input_draws.h"
#include "ir/graph/open_sizes.h"
#include "ir/ops/opaque.h"

namespace egret::driver {
namespace {

// Those sizes that inputs have; others depend on data.
ir::SymbolValues of_inputs(const ir::Graph& graph, const ir::SymbolValues& sizes) {
  ir::SymbolValues found;
  for (const std::string& name : ir::open_sizes(graph)) {
    if (const auto size = sizes.find(name); size != sizes.end()) found.insert(*size);
  }
  return found;
}

}  // namespace

Track::Track(const ir::Graph& program, const ir::Graph& original, const Setup& setup,
             const OptimizeOptions& options, const rules::OpenSizes* open)
    : program_(program),
      setup_(setup),
      options_(options),
      open_(open),
      undefined_(original.inputs().size() != program.inputs().size()) {
  if (!in_engine()) return;
  const frontends::OnnxModelInfo* info = options.written_like.get();
  const bool foreign = info != nullptr && !info->foreign_inputs.empty();
  const ir::SymbolValues sizes = of_inputs(program, examples());
  const auto has_tensor_type = [&](const std::string& name) {
    return info == nullptr || !info->untyped_values.contains(name);
  };
  const auto is_known = [&](ir::NodeId id) {
    return std::ranges::all_of(ir::symbols_of(program.node(id).type.dims),
                               [&](const std::string& name) { return sizes.contains(name); });
  };
  whole_ = !foreign && std::ranges::all_of(program.inputs(), [&](ir::NodeId id) {
    return is_known(id) && has_tensor_type(program.node(id).name);
  });
  knows_outputs_ = std::ranges::all_of(program.outputs(), [&](const ir::Graph::Output& output) {
    return is_known(output.node) && has_tensor_type(output.name);
  });
  // The program's inputs are the first ones of the original.
  draws_ = ir::input_draws(original);
  draws_.resize(program.inputs().size());
}

// The inputs of the program, and its outputs if they are to be fetched.
ir::Graph Track::signature(const ir::SymbolValues& sizes) const {
  ir::Graph signature;
  const ir::SymbolValues known = of_inputs(program_, sizes);
  std::map<std::string, ir::Draw> draws;
  for (std::size_t i = 0; i < program_.inputs().size(); ++i) {
    const ir::Node& input = program_.node(program_.inputs()[i]);
    signature.append({.kind = ir::NodeKind::kInput,
                      .type = rules::at_sizes(input.type, known),
                      .name = input.name});
    draws[input.name] = draws_[i];
  }
  ir::add_draws(signature, draws);
  if (!knows_outputs_) return signature;
  for (const ir::Graph::Output& output : program_.outputs()) {
    ir::Node value{.kind = ir::NodeKind::kConstant,
                   .type = rules::at_sizes(program_.node(output.node).type, known)};
    signature.add_output(output.name, signature.append(std::move(value)));
  }
  return signature;
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
