// SPDX-License-Identifier: Apache-2.0
// How Egret works, from top to bottom:
//
//   graph -> e-graph -> saturate with admitted rules -> price nodes -> extract candidates and fold
//   their constants -> race them against the original -> check the outputs
//
// A search over whole graphs (driver/search/graph_search.h), where one is asked for, replaces the
// e-graph and the extraction.
#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/stop.h"
#include "driver/certificate.h"
#include "driver/decide.h"
#include "driver/final_check.h"
#include "driver/kernel_predictions.h"
#include "driver/optimize.h"
#include "driver/phase_times.h"
#include "driver/precision/error_budget.h"
#include "driver/report_steps.h"
#include "driver/search/graph_search.h"
#include "driver/select/candidate.h"
#include "driver/select/choose.h"
#include "driver/select/kernel_choice.h"
#include "driver/setup.h"
#include "ir/ops/opaque.h"
#include "rules/tensors/saturated_graph.h"
#include "verifier/replay/plain_program.h"

namespace egret::driver {
namespace {

using Report = OptimizeReport;

rules::SaturateOptions saturate_options(const OptimizeOptions& options,
                                        base::ProgressSink* progress) {
  rules::SaturateOptions saturation;
  saturation.limits.nodes = static_cast<std::uint64_t>(options.limit_nodes);
  saturation.limits.iterations = static_cast<std::uint64_t>(options.limit_iterations);
  saturation.limits.seconds = options.limit_time;
  saturation.limits.bytes = static_cast<std::uint64_t>(options.limit_memory);
  saturation.multi_pattern_iterations = static_cast<int>(options.multi_iterations);
  saturation.progress = progress;
  saturation.scheduler = options.own_scheduler;
  return saturation;
}

Report::Growth growth_of(const rules::SaturatedGraph& saturated) {
  const egraph::RunReport& run = saturated.run;
  std::vector<Report::Growth::Step> steps;
  for (const egraph::IterationStats& one : run.iterations) {
    steps.push_back({.e_nodes = one.nodes,
                     .e_classes = one.classes,
                     .bytes = one.bytes,
                     .matches = one.matches,
                     .applied = one.applied,
                     .search_s = one.search_seconds,
                     .apply_s = one.apply_seconds,
                     .rebuild_s = one.rebuild_seconds});
  }
  return {.stop_reason = std::string(egraph::to_string(run.stop)),
          .e_nodes = saturated.tensors->egraph().node_count(),
          .e_classes = saturated.tensors->egraph().class_count(),
          .iterations = run.iterations.size(),
          .search_s = run.search_seconds(),
          .apply_s = run.apply_seconds(),
          .rebuild_s = run.rebuild_seconds(),
          .steps = std::move(steps)};
}

// Called before the first rule runs.
std::vector<rules::CompiledRule> record_proofs(rules::TensorEGraph& tensors) {
  tensors.egraph().enable_proofs();
  return {};
}

// What operators take in a graph, at the examples of open sizes, for the cost model; false: nothing
// new was learned.
base::Result<bool> learn_from(const ir::Graph& graph, const Setup& setup,
                              const rules::OpenSizes* open) {
  const auto learn = [&](const ir::Graph& known) {
    return setup.engine_costs->learn_from(known, *setup.costs.profiled, *setup.costs.database,
                                          setup.costs.machine);
  };
  if (open == nullptr) return learn(graph);
  EGRET_ASSIGN_OR_RETURN(const ir::Graph bound, rules::at_sizes(graph, open->examples()));
  return learn(bound);
}

ChooseOptions::KernelsFrom kernels_from(const OptimizeOptions& options) {
  using enum ChooseOptions::KernelsFrom;
  if (options.kernels_from == "graph") return kGraph;
  return options.kernels_from == "egraph" ? kEGraph : kBackend;
}

// With an error budget each kernel has several forms, and errors are measured too.
constexpr double kFormsFactor = 6;

// Null without --error-budget.
base::Result<std::unique_ptr<ErrorBudget>> budget_of(const ir::Graph& graph, const Setup& setup,
                                                     const OptimizeOptions& options) {
  if (options.error_budget == 0) return std::unique_ptr<ErrorBudget>();
  if (setup.costs.profiled == nullptr)
    return base::usage_error("--error-budget needs measurements of kernels (--cost profiled)");
  // Before samples run: backends without divisions may take long for them.
  EGRET_RETURN_IF_ERROR(setup.backend->divide(ir::Graph(), setup.plan).status());
  std::vector<ir::GivenInputs> sets = options.samples;
  if (sets.empty()) sets.push_back(options.given_inputs);
  EGRET_ASSIGN_OR_RETURN(Samples samples,
                         make_samples(graph, sets, static_cast<std::uint64_t>(options.seed)));
  return ErrorBudget::of(graph, std::move(samples), options.error_budget,
                         forms_from_named(options.forms_from), *setup.backend, setup.plan,
                         kFormsFactor / 2 * options.profile_time);
}

ChooseOptions choose_options(const Setup& setup, const OptimizeOptions& options,
                             const rules::OpenSizes* open, Profiler& second, ErrorBudget* budget,
                             base::ProgressSink* progress) {
  std::function<base::Result<bool>(const ir::Graph&)> learn;
  if (setup.engine_costs != nullptr)
    learn = [&setup, open](const ir::Graph& graph) { return learn_from(graph, setup, open); };
  return {.extractor = setup.extractor,
          .keep_answers = setup.own_extractor == nullptr,
          .extract_seconds = options.extract_time,
          .seed = static_cast<std::uint64_t>(options.seed),
          .only_cheapest = options.no_measure || options.allow_slower,
          .only_clear_gains = options.quick,
          .keep_nodes_whole = setup.engine != nullptr,
          .second_model = second.model,
          .second_profiler = &second,
          .learn = std::move(learn),
          .kernels_from = kernels_from(options),
          .lays_out = options.layouts == "egraph",
          .kept = kept_times(setup),
          .kernel_seconds = setup.costs.profiled != nullptr
                                ? (budget != nullptr ? kFormsFactor : 1) * options.profile_time
                                : 0,
          .error_budget = budget,
          .alternatives = options.alternatives,
          .alternative_spread = options.alternative_spread,
          .alternative_kept = options.alternative_kept,
          .fit_seconds = options.limit_time,
          .backend = setup.backend,
          .plan = setup.plan,
          .progress = progress};
}

// Instead of saturation and extraction. An operator is measured when the search first meets it.
base::Result<std::vector<Candidate>> search(const ir::Graph& graph, const Setup& setup,
                                            const OptimizeOptions& options, Profiler& profiler,
                                            base::ProgressSink* progress, Report::Growth& growth) {
  const GraphSearchOptions searching{.alpha = options.search_alpha,
                                     .budget = options.search_budget,
                                     .seconds = options.limit_time,
                                     .bytes = static_cast<std::uint64_t>(options.limit_memory),
                                     .progress = progress};
  const PriceOf price = [&](const cost::Query& query) {
    return price_of(query, *setup.costs.model, profiler);
  };
  EGRET_ASSIGN_OR_RETURN(const GraphSearchResult found,
                         setup.search->search(graph, setup.rules, price, searching));
  growth.stop_reason = found.stop_reason;
  growth.graphs_rewritten = found.rewritten;
  growth.graphs_seen = found.seen;
  Candidate candidate{.name = "cheapest"};
  candidate.solution.dag_cost = found.cost;
  for (const auto& [rule, times] : found.applied)
    candidate.rules_used.push_back(rule_count(setup.rules, rule, times));
  CandidatePool pool(setup.forbidden, *setup.costs.model, profiler);
  EGRET_RETURN_IF_ERROR(pool.add(std::move(candidate), found.graph));
  return std::move(pool.candidates());
}

// Errors: usage_error for nodes without operators, or whose operators no rule may see.
base::Result<ir::Graph> taken_apart(const ir::Graph& program, const OptimizeOptions& options) {
  const auto is_sealed = [](const auto& named) { return named.second.sealed; };
  if (ir::has_undefined(program) || std::ranges::any_of(program.bodies, is_sealed))
    return base::usage_error(option_of_kernels(options) + " needs operators that Egret defines");
  ir::Graph operators = ir::expand_bodies(program);
  if (ir::has_opaque(operators)) return base::internal_error("a node was not taken apart");
  return operators;
}

}  // namespace

base::Result<OptimizeResult> optimize(const ir::Graph& program, const OptimizeOptions& given,
                                      base::ProgressSink* progress, rules::OpenSizes* open) {
  PhaseTimes times;
  OptimizeOptions options = given.quick ? quick(given) : given;
  if (options.error_budget > 0) {
    if (options.kernels_from == "graph") {
      return base::usage_error(
          "--error-budget chooses the precision of kernels together with the graph and excludes "
          "--kernels-from graph");
    }
    options.kernels_from = "egraph";
  }
  if (chooses_kernels(options) && open != nullptr) {
    const std::string option =
        options.error_budget > 0 ? "--error-budget" : option_of_kernels(options);
    return base::usage_error(option + " needs known sizes (--bind)");
  }
  if (chooses_kernels(options) && ir::has_opaque(program)) {
    // Kernels compute operators, so nodes that consist of several are taken apart.
    EGRET_ASSIGN_OR_RETURN(const ir::Graph operators, taken_apart(program, options));
    return optimize(operators, given, progress, open);
  }
  if (options.explain) {
    EGRET_RETURN_IF_ERROR(check_explainable(options));
    const auto may_open = [](const auto& named) { return !named.second.sealed; };
    if (std::ranges::any_of(program.bodies, may_open))
      return optimize(verifier::plain_program(program), given, progress, open);
  }
  if (open != nullptr) EGRET_RETURN_IF_ERROR(open->settle(program));
  EGRET_ASSIGN_OR_RETURN(const ir::Graph graph, runnable(program, open));
  EGRET_RETURN_IF_ERROR(ir::check_given(graph, options.given_inputs));
  EGRET_ASSIGN_OR_RETURN(const Setup setup, prepare(options));
  if (setup.search != nullptr && (open != nullptr || ir::has_undefined(program))) {
    return base::usage_error("--extractor " + options.extractor +
                             " needs known sizes (--bind) and operators");
  }
  if (setup.search != nullptr && options.explain)
    return base::usage_error("--certificate excludes --extractor " + options.extractor);
  times.end("prepare");

  Report::Growth growth;
  rules::SaturatedGraph saturated;
  if (setup.search == nullptr) {
    EGRET_ASSIGN_OR_RETURN(
        saturated,
        rules::saturate(program, setup.rules, saturate_options(options, progress), options.threads,
                        options.explain ? rules::MakeRules(record_proofs) : nullptr, open));
    growth = growth_of(saturated);
    times.end("saturate");
  }

  Profiler profiler = make_profiler(setup, options.profile_time);
  Profiler second = make_backend_profiler(setup, options.profile_time);
  // An engine that cannot run the program refuses it in the race.
  if (setup.engine_costs != nullptr && profiler.may_measure())
    (void)learn_from(program, setup, open);
  EGRET_ASSIGN_OR_RETURN(Prediction before, predict(graph, *setup.costs.model, profiler));
  EGRET_ASSIGN_OR_RETURN(const std::unique_ptr<ErrorBudget> budget,
                         budget_of(graph, setup, options));
  EGRET_ASSIGN_OR_RETURN(
      std::vector<Candidate> candidates,
      setup.search != nullptr
          ? search(graph, setup, options, profiler, progress, growth)
          : choose(setup.rules, saturated, setup.forbidden, setup.costs, profiler,
                   choose_options(setup, options, open, second, budget.get(), progress)));
  if (ir::has_undefined(program)) {
    for (Candidate& candidate : candidates) take_signature_of(graph, candidate);
  }
  if (setup.engine_costs != nullptr) {  // the candidates taught the model
    EGRET_ASSIGN_OR_RETURN(before, predict(graph, *setup.costs.model, profiler));
  }
  if (chooses_kernels(options) && setup.costs.profiled != nullptr) {
    auto divided = predict_as_divided(graph, *setup.backend, setup.plan, kept_times(setup));
    if (!is_interrupted(divided.status())) {
      EGRET_ASSIGN_OR_RETURN(before, std::move(divided));
    }
  }
  std::shared_ptr<Explained> explained;
  if (options.explain)
    explained = std::make_shared<Explained>(Explained{program, std::move(saturated), setup.rules});
  saturated = {};  // the race needs its memory
  times.end(setup.search != nullptr ? "search" : "extract", "profile", profiler.spent_s);

  auto by_kernels = predict_by_kernels(graph, candidates, setup, options);
  if (is_interrupted(by_kernels.status())) by_kernels = KernelPrediction();
  EGRET_ASSIGN_OR_RETURN(const KernelPrediction kernels_before, std::move(by_kernels));
  EGRET_ASSIGN_OR_RETURN(Decision decision,
                         decide(program, graph, candidates, setup, options, progress, open));
  if (!setup.predicts_by_kernels) decision.kernels_before = kernels_before;
  times.end("measure");

  auto outputs = check_outputs(graph, decision, setup, options, budget.get(), progress);
  if (is_interrupted(outputs.status())) {
    EGRET_RETURN_IF_ERROR(keep_what_is_known(graph, setup, outputs.status(), decision));
    outputs = Report::Check();
  }
  EGRET_ASSIGN_OR_RETURN(const Report::Check checked, std::move(outputs));
  Report::Sizes sizes;
  if (decision.chosen == nullptr && (open != nullptr || ir::has_opaque(program)))
    decision.graph = program;
  if (decision.chosen != nullptr && decision.chosen->written.size() > 0)
    decision.graph = decision.chosen->written;
  if (open != nullptr) {
    auto at_sizes = check_sizes(program, decision, *open, setup, options, checked.made);
    if (is_interrupted(at_sizes.status())) {
      EGRET_RETURN_IF_ERROR(keep_what_is_known(graph, setup, at_sizes.status(), decision));
      decision.graph = program;
      at_sizes = Report::Sizes();
    }
    EGRET_ASSIGN_OR_RETURN(sizes, std::move(at_sizes));
  }
  if (checked.made) times.end("check");

  OptimizeReport report = report_of({.setup = setup,
                                     .options = options,
                                     .growth = growth,
                                     .before = before,
                                     .profiler = profiler,
                                     .candidates = candidates,
                                     .decision = decision,
                                     .sizes = sizes,
                                     .budget = budget.get(),
                                     .check = checked});
  if (base::stop_requested()) report.growth.stop_reason = "interrupted";
  report.seconds = times.all();
  report.seconds_by_phase = times.by_phase();
  RuleMarks made_by;
  if (decision.chosen != nullptr) made_by = decision.chosen->made_by;
  if (explained != nullptr && decision.chosen != nullptr)
    explained->extracted = decision.chosen->extracted;
  return OptimizeResult{std::move(decision.graph), std::move(report), std::move(made_by),
                        std::move(explained)};
}

}  // namespace egret::driver
