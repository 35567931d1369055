// SPDX-License-Identifier: Apache-2.0
// How Egret works, from top to bottom:
//
//   graph -> e-graph -> saturate with rules -> price nodes and extract candidates, each folded
//         where it depends on weights alone -> race them against the original -> check outputs
//
// A search over whole graphs (driver/search/graph_search.h), where one is asked for, takes the
// place of the e-graph.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <span>

#include "base/hash.h"
#include "base/random.h"
#include "base/timer.h"
#include "driver/measure/batch_plan.h"
#include "driver/measure/machine.h"
#include "driver/measure/race.h"
#include "driver/optimize.h"
#include "driver/search/graph_search.h"
#include "driver/select/cost_choice.h"
#include "driver/select/forbidden_operators.h"
#include "driver/select/kernel_costs.h"
#include "driver/select/memory_fit.h"
#include "driver/select/operator_costs.h"
#include "driver/select/saturated_graph.h"
#include "driver/select/selection.h"
#include "extract/core/extractor.h"
#include "frontends/onnx.h"
#include "rules/tensors/constant_folding.h"
#include "rules/tensors/rule_set.h"
#include "rules/tensors/rule_status.h"

namespace egret::driver {
namespace {

// A clear gain: what a sum of operators' times may be wrong by.
constexpr double kCaution = 1.15;

// One way to write the program.
struct Candidate {
  std::string name;
  ir::Graph graph{};
  std::string identity{};  // of the graph; see identity_of()
  std::unique_ptr<backends::Plan> plan{};
  Prediction prediction{};
  KernelPrediction kernels{};  // where alternatives were asked for
  std::map<std::string, int> operators{};
  std::vector<OptimizeReport::RuleCount> rules_used{};
  extract::Solution solution{};
  std::int64_t estimated = 0;
};

bool is_limit(egraph::StopReason reason) {
  return reason == egraph::StopReason::kNodeLimit || reason == egraph::StopReason::kByteLimit ||
         reason == egraph::StopReason::kTimeLimit;
}

class Pipeline {
 public:
  Pipeline(const ir::Graph& original, const OptimizeOptions& options, base::ProgressSink* sink)
      : original_(original), options_(options), sink_(sink) {}

  base::Result<OptimizeResult> run() {
    const base::Stopwatch watch;
    EGRET_RETURN_IF_ERROR(prepare());
    if (search_ != nullptr) {
      EGRET_RETURN_IF_ERROR(search());
    } else {
      EGRET_RETURN_IF_ERROR(saturate());
      EGRET_RETURN_IF_ERROR(choose());
    }
    EGRET_RETURN_IF_ERROR(confirm());
    EGRET_RETURN_IF_ERROR(check());
    report_.seconds = watch.seconds();
    write_manifest();
    return OptimizeResult{std::move(chosen_), std::move(report_)};
  }

 private:
  // Names to things: rules, extractor, backend, cost model.
  base::Status prepare() {
    const base::Stopwatch watch;
    EGRET_ASSIGN_OR_RETURN(rules_, rules::select_rules(options_.rules));
    EGRET_ASSIGN_OR_RETURN(statuses_, rules::builtin_statuses());
    EGRET_RETURN_IF_ERROR(require_rules());
    extractor_ = extract::find_extractor(options_.extractor);
    search_ = find_graph_search(options_.extractor);
    if (extractor_ == nullptr && search_ == nullptr)
      return base::usage_error("no extractor is called '" + options_.extractor + "'");
    if (search_ != nullptr && options_.limit_arena > 0)
      return base::usage_error("--limit-arena: a search over whole graphs keeps to no such limit");
    if (search_ != nullptr && !options_.forbid.empty())
      return base::usage_error("--forbid: a search over whole graphs forbids nothing");
    EGRET_ASSIGN_OR_RETURN(forbidden_, ForbiddenOperators::named(options_.forbid));
    backend_ = backends::find_backend(options_.backend);
    if (backend_ == nullptr)
      return base::usage_error("no backend is called '" + options_.backend + "'");
    EGRET_RETURN_IF_ERROR(backend_->takes_precision(precision()));
    EGRET_RETURN_IF_ERROR(backend_->availability());
    EGRET_RETURN_IF_ERROR(make_cost_model());
    report_.rules_available = rules_.size();
    report_.rule_set_hash = rules_.hash().to_hex();
    report_.extractor = options_.extractor;
    report_.cost_model = costs_.model->name();
    phase("prepare", watch.seconds());
    return base::ok();
  }

  base::Status require_rules() {
    const auto least = rules::parse_rule_status(options_.allow);
    if (!least) return base::usage_error("allow cannot be '" + options_.allow + "'");
    report_.rules_allowed = options_.allow;
    for (const rules::Rule& rule : rules_.rules) {
      if (statuses_.of(rule) != rules::RuleStatus::kProven)
        report_.rules_not_proven.push_back(rule.name);
    }
    return rules::require_status(rules_, statuses_, *least);
  }

  base::Status make_cost_model() {
    machine_ = machine_fingerprint(execution());
    EGRET_ASSIGN_OR_RETURN(costs_, choose_costs({.model = options_.cost,
                                                 .database = options_.cost_db,
                                                 .database_machine = options_.cost_machine,
                                                 .execution = execution_of(options_)},
                                                machine_));
    report_.rates = costs_.rates;
    report_.costs_warning = costs_.warning;
    return base::ok();
  }

  base::Status saturate() {
    const base::Stopwatch watch;
    rules::SaturateOptions saturation;
    saturation.limits.nodes = static_cast<std::uint64_t>(options_.limit_nodes);
    saturation.limits.iterations = static_cast<std::uint64_t>(options_.limit_iterations);
    saturation.limits.seconds = options_.limit_time;
    saturation.limits.bytes = static_cast<std::uint64_t>(options_.limit_memory);
    saturation.multi_pattern_iterations = static_cast<int>(options_.multi_iterations);
    saturation.progress = sink_;
    EGRET_ASSIGN_OR_RETURN(saturated_,
                           driver::saturate(original_, rules_, saturation, options_.threads));
    const egraph::RunReport& run = saturated_.run;
    report_.stop_reason = egraph::to_string(run.stop);
    report_.limit_hit = is_limit(run.stop);
    report_.iterations = run.iterations.size();
    report_.search_s = run.search_seconds();
    report_.apply_s = run.apply_seconds();
    report_.rebuild_s = run.rebuild_seconds();
    report_.e_nodes = tensors().egraph().node_count();
    report_.e_classes = tensors().egraph().class_count();
    phase("saturate", watch.seconds());
    return base::ok();
  }

  // Several answers to one question. The cheapest by the cost model is what was asked for; a cost
  // model that sums operators errs by some percent, so two answers that move less are kept beside
  // it: one that leaves the program's operators only for a clear gain, and one that leaves them
  // not at all (unneeded ones are gone, repeated ones are shared).
  base::Status choose() {
    const base::Stopwatch watch;
    start_profiler();
    EGRET_ASSIGN_OR_RETURN(before_, predict(original_, *costs_.model, profiler_));
    report_.predicted_before_s = before_.seconds;
    const std::vector<egraph::ClassId> roots = tensors().roots();
    const egraph::EGraphView view = egraph::make_view(tensors().egraph(), roots);
    factors_ = forbidden_.factors(tensors(), view);
    EGRET_RETURN_IF_ERROR(add_candidate("cheapest", view, 1));
    if (!options_.no_measure && !options_.allow_slower) {
      EGRET_RETURN_IF_ERROR(add_candidate("cautious", view, kCaution));
      EGRET_RETURN_IF_ERROR(add_candidate("tidied", view, std::numeric_limits<double>::infinity()));
    }
    for (std::int64_t i = 1; i <= options_.alternatives; ++i)
      EGRET_RETURN_IF_ERROR(add_alternative(i, view));
    if (candidates_.empty()) return nothing_without_forbidden();
    if (options_.limit_arena > 0)
      EGRET_RETURN_IF_ERROR(keep_to_arena(view, candidates_.front().solution.bound));
    report_extraction();
    saturated_ = {};
    phase("extract", watch.seconds() - profiler_.spent_s);
    phase("profile", profiler_.spent_s);
    return base::ok();
  }

  void start_profiler() {
    profiler_.model = costs_.profiled;
    profiler_.measure = [this](const cost::Query& query) {
      return measured_cost(query, execution());
    };
    profiler_.make_ready = [this](std::span<const cost::Query> queries) {
      make_ready_to_measure(queries, execution());
    };
    profiler_.budget_s = options_.profile_time;
  }

  // Instead of saturation and extraction. An operator is measured when it is first met.
  base::Status search() {
    const base::Stopwatch watch;
    start_profiler();
    EGRET_ASSIGN_OR_RETURN(before_, predict(original_, *costs_.model, profiler_));
    report_.predicted_before_s = before_.seconds;
    GraphSearchOptions searching;
    searching.alpha = options_.search_alpha;
    searching.budget = options_.search_budget;
    searching.seconds = options_.limit_time;
    searching.bytes = static_cast<std::uint64_t>(options_.limit_memory);
    searching.progress = sink_;
    const PriceOf price = [this](const cost::Query& query) {
      return price_of(query, *costs_.model, profiler_);
    };
    EGRET_ASSIGN_OR_RETURN(const GraphSearchResult found,
                           search_->search(original_, rules_, price, searching));
    report_.stop_reason = found.stop_reason;
    report_.limit_hit = found.limit_hit;
    report_.graphs_rewritten = found.rewritten;
    report_.graphs_seen = found.seen;
    Candidate candidate{.name = "cheapest"};
    candidate.solution.dag_cost = found.cost;
    for (const auto& [rule, times] : found.applied)
      candidate.rules_used.push_back({rule, times, status_of(rule)});
    EGRET_RETURN_IF_ERROR(add_candidate(std::move(candidate), found.graph));
    report_extraction();
    phase("search", watch.seconds() - profiler_.spent_s);
    phase("profile", profiler_.spent_s);
    return base::ok();
  }

  void report_extraction() {
    const extract::Solution& solution = candidates_.front().solution;
    report_.operators_measured = profiler_.measured;
    report_.extraction_cost_s = solution.dag_cost;
    report_.extraction_bound_s = solution.bound;
    report_.extraction_notes = solution.notes;
    for (const std::string& reason : profiler_.too_large)
      report_.extraction_notes.push_back("estimated, not measured: " + reason);
    report_.extraction_status =
        solution.quality == extract::Quality::kOptimal ? "optimal" : "feasible";
  }

  base::Status add_candidate(std::string_view name, const egraph::EGraphView& view,
                             double price_of_new) {
    SelectionOptions selection;
    selection.price_of_new = price_of_new;
    return add_candidate(std::string(name), view, selection);
  }

  base::Status add_alternative(std::int64_t number, const egraph::EGraphView& view) {
    SelectionOptions selection;
    selection.spread = options_.alternative_spread;
    selection.seed = base::hash_combine(static_cast<std::uint64_t>(options_.seed),
                                        static_cast<std::uint64_t>(number));
    selection.kept = base::Random(selection.seed).uniform(0, options_.alternative_kept);
    return add_candidate("alternative " + std::to_string(number), view, selection);
  }

  base::Status add_candidate(std::string name, const egraph::EGraphView& view,
                             SelectionOptions selection) {
    selection.extractor = extractor_;
    selection.extraction.time_limit_s = options_.extract_time;
    selection.extraction.seed = static_cast<std::uint64_t>(options_.seed);
    selection.answers = costs_.database.get();
    selection.factors = factors_;
    const auto selected = select(tensors(), view, *costs_.model, profiler_, selection, sink_);
    // The program's own operators need not do: a rule may have hidden one of them.
    const bool may_be_missing = std::isinf(selection.price_of_new);
    if (may_be_missing && selected.status().code() == base::StatusCode::kBadInput)
      return base::ok();
    if (!forbidden_.empty() && selected.status().code() == base::StatusCode::kBadInput)
      return nothing_without_forbidden();
    EGRET_RETURN_IF_ERROR(selected.status());
    return add_candidate(std::move(name), view, *selected);
  }

  base::Status add_candidate(std::string name, const egraph::EGraphView& view,
                             const SelectionResult& selected) {
    const rules::Selection nodes = tensors().from_view(view, selected.solution.choice);
    Candidate candidate{.name = std::move(name)};
    EGRET_ASSIGN_OR_RETURN(const ir::Graph extracted, tensors().to_graph(nodes));
    for (const rules::RuleUse& use : rules::rules_used(tensors(), saturated_.rules, nodes)) {
      candidate.rules_used.push_back({use.name, use.applied, status_of(use.name)});
    }
    candidate.solution = selected.solution;
    candidate.estimated = selected.estimated;
    return add_candidate(std::move(candidate), extracted);
  }

  base::Status nothing_without_forbidden() const {
    return base::unsupported("no equal graph was found that does without " + forbidden_.names());
  }

  // Unless it is there already under another name, or what depends on weights alone and is not
  // folded is forbidden.
  base::Status add_candidate(Candidate candidate, const ir::Graph& graph) {
    EGRET_ASSIGN_OR_RETURN(candidate.graph, rules::fold_constants(graph, {.known = &folded_}));
    if (forbidden_.any_in(candidate.graph)) return base::ok();
    candidate.identity = identity_of(candidate.graph);
    if (std::ranges::find(candidates_, candidate.identity, &Candidate::identity) !=
        candidates_.end())
      return base::ok();
    EGRET_ASSIGN_OR_RETURN(candidate.prediction,
                           predict(candidate.graph, *costs_.model, profiler_));
    EGRET_ASSIGN_OR_RETURN(candidate.operators, frontends::count_onnx_operators(candidate.graph));
    candidates_.push_back(std::move(candidate));
    return base::ok();
  }

  bool fits(const backends::Plan& plan) const {
    return options_.limit_arena == 0 || plan.report().arena_bytes <= options_.limit_arena;
  }
  base::Status compile_candidates() {
    for (Candidate& candidate : candidates_) EGRET_RETURN_IF_ERROR(compile(candidate));
    return base::ok();
  }
  base::Status drop_what_does_not_fit() {
    EGRET_RETURN_IF_ERROR(compile_candidates());
    std::erase_if(candidates_, [&](const Candidate& candidate) { return !fits(*candidate.plan); });
    return base::ok();
  }

  // Where the cheapest graph takes too much memory, another is looked for. None costs less than the
  // bound.
  base::Status keep_to_arena(const egraph::EGraphView& view, double bound) {
    const std::string cheapest = candidates_.front().identity;
    EGRET_RETURN_IF_ERROR(drop_what_does_not_fit());
    if (!candidates_.empty() && candidates_.front().identity == cheapest) return base::ok();
    MemoryFitOptions fitting;
    fitting.limit_bytes = options_.limit_arena;
    fitting.seconds = options_.limit_time;
    fitting.selection.extractor = extractor_;
    fitting.selection.extraction.time_limit_s = options_.extract_time;
    fitting.selection.factors = factors_;
    fitting.backend = backend_;
    fitting.plan = plan_options();
    EGRET_ASSIGN_OR_RETURN(MemoryFitResult found,
                           fit_memory(tensors(), view, *costs_.model, profiler_, fitting, sink_));
    if (found.fit) {
      extract::Solution& solution = found.fit->selected.solution;
      solution.bound = std::min(bound, solution.dag_cost);
      solution.quality = extract::Quality::kFeasible;
      EGRET_RETURN_IF_ERROR(add_candidate("fitting", view, found.fit->selected));
      EGRET_RETURN_IF_ERROR(drop_what_does_not_fit());
    }
    std::ranges::stable_sort(
        candidates_, {}, [](const Candidate& candidate) { return candidate.prediction.seconds; });
    if (!candidates_.empty()) return base::ok();
    return nothing_fits(found, options_.limit_arena);
  }

  // The original is always in the race.
  base::Status confirm() {
    const base::Stopwatch watch;
    folded_ = {};
    std::unique_ptr<backends::Plan> before;
    EGRET_RETURN_IF_ERROR(compile_original(before));
    if (before != nullptr) report_.arena_before = before->report().arena_bytes;
    EGRET_ASSIGN_OR_RETURN(report_.operators_before, frontends::count_onnx_operators(original_));
    if (before == nullptr) {
      EGRET_RETURN_IF_ERROR(take_without_running());
    } else if (options_.no_measure) {
      EGRET_RETURN_IF_ERROR(take(candidates_.front()));
    } else {
      EGRET_RETURN_IF_ERROR(measure(std::move(before)));
    }
    phase("measure", watch.seconds());
    return base::ok();
  }

  // None where the original does not fit in memory.
  base::Status compile_original(std::unique_ptr<backends::Plan>& before) {
    const base::Status compiled = compile(original_, before);
    if (compiled.code() != base::StatusCode::kLimit) return compiled;
    report_.limit_hit = true;
    report_.extraction_notes.push_back("nothing is measured or checked: " + compiled.message());
    return base::ok();
  }

  // What cannot be checked is taken only where that was asked for.
  base::Status take_without_running() {
    if (!options_.no_check && !forbidden_.any_in(original_)) {
      report_.extraction_notes.push_back("so the graph stays as it is; --no-check changes it");
      keep_original(nullptr);
      return base::ok();
    }
    if (!options_.no_check) return base::limit_hit(report_.extraction_notes.back());
    const base::Status compiled = compile(candidates_.front());
    if (!compiled.ok() && compiled.code() != base::StatusCode::kLimit) return compiled;
    take_compiled(candidates_.front());
    return base::ok();
  }

  bool predicts_by_kernels() const {
    return options_.alternatives > 0 && costs_.database != nullptr && !options_.no_measure;
  }

  // What is known of many graphs before they are raced.
  base::Status predict_by_kernels(backends::Plan& before) {
    if (!predicts_by_kernels()) return base::ok();
    std::vector<backends::Plan*> plans{&before};
    for (const Candidate& candidate : candidates_) plans.push_back(candidate.plan.get());
    KernelCosts costs(*costs_.database, machine_);
    const base::Status learned = costs.learn(plans);
    // A backend that does not tell its kernels apart.
    if (learned.code() == base::StatusCode::kUnsupported) return base::ok();
    EGRET_RETURN_IF_ERROR(learned);
    report_.kernels_before = costs.predict(before);
    for (Candidate& candidate : candidates_) candidate.kernels = costs.predict(*candidate.plan);
    return base::ok();
  }

  // Plans of large models take seconds to make: where the race was run before, none is made for it.
  base::Result<RaceResult> race_against(backends::Plan& before) {
    RaceOptions racing;
    racing.measure.min_seconds = options_.measure_time;
    racing.measure.min_runs = 5;  // of graphs that take long; those vary little
    racing.measure.max_seconds = std::max(10 * options_.measure_time, 5.0);
    racing.measure.on_device = true;
    racing.measure.seed = static_cast<std::uint64_t>(options_.seed);
    racing.database = costs_.database.get();
    racing.machine = machine_;
    std::vector<Racer> racers{
        {&before, identity_of(original_), operator_count(report_.operators_before)}};
    for (const Candidate& candidate : candidates_)
      racers.push_back({nullptr, candidate.identity, operator_count(candidate.operators)});
    if (!predicts_by_kernels()) {
      EGRET_ASSIGN_OR_RETURN(auto remembered, remembered_race(racers, racing));
      if (remembered) return *std::move(remembered);
    }
    EGRET_RETURN_IF_ERROR(compile_candidates());
    EGRET_RETURN_IF_ERROR(predict_by_kernels(before));
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      racers[i + 1].plan = candidates_[i].plan.get();
    for (const Racer& racer : racers) racer.plan->stop_profiling();
    return race(racers, racing);
  }

  base::Status measure(std::unique_ptr<backends::Plan> before) {
    const base::Progress progress(sink_, "measure");
    EGRET_ASSIGN_OR_RETURN(const RaceResult result, race_against(*before));
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      report_.candidates.push_back({candidates_[i].name, operator_count(candidates_[i].operators),
                                    candidates_[i].prediction.seconds, candidates_[i].kernels,
                                    result.timings[i + 1]});
    }
    report_.measured = true;
    report_.measured_before = result.timings[0];
    if (costs_.profiled != nullptr) {
      std::string doubt =
          doubt_about_costs(report_.predicted_before_s, report_.measured_before.median_s);
      if (!doubt.empty()) report_.extraction_notes.push_back(std::move(doubt));
    }
    std::size_t winner = options_.allow_slower ? 1 : result.winner;
    if (winner == 0 && (!fits(*before) || forbidden_.any_in(original_))) {
      const auto times = std::span(result.timings).subspan(1);
      const auto fastest = std::ranges::min_element(times, {}, &backends::Timing::median_s);
      winner = 1 + static_cast<std::size_t>(fastest - times.begin());
    }
    report_.measured_after = result.timings[winner];
    if (winner > 0) {
      before.reset();  // its memory is the next plan's
      return take(candidates_[winner - 1]);
    }
    keep_original(std::move(before));
    return base::ok();
  }

  void keep_original(std::unique_ptr<backends::Plan> plan) {
    report_.status = "unchanged";
    report_.operators_after = report_.operators_before;
    report_prediction(before_);
    report_.chosen = "original";
    report_.arena_after = report_.arena_before;
    chosen_ = ir::without_dead_nodes(original_);
    chosen_plan_ = std::move(plan);
  }

  void report_prediction(const Prediction& of_result) {
    report_.predicted_after_s = of_result.seconds;
    report_.predicted_interpolated = of_result.interpolated;
    report_.predicted_estimated = of_result.estimated;
  }

  base::Status take(Candidate& candidate) {
    EGRET_RETURN_IF_ERROR(compile(candidate));
    take_compiled(candidate);
    return base::ok();
  }

  void take_compiled(Candidate& candidate) {
    report_.status = "improved";
    report_.chosen = candidate.name;
    if (candidate.plan != nullptr) report_.arena_after = candidate.plan->report().arena_bytes;
    report_.rules_used = std::move(candidate.rules_used);
    report_.operators_after = std::move(candidate.operators);
    report_prediction(candidate.prediction);
    report_.operators_estimated = candidate.estimated;
    chosen_ = std::move(candidate.graph);
    chosen_plan_ = std::move(candidate.plan);
  }

  base::Status check() {
    if (options_.no_check || chosen_plan_ == nullptr) return base::ok();
    const base::Stopwatch watch;
    const base::Progress progress(sink_, "check");
    CheckOptions checking;
    checking.samples = static_cast<int>(options_.check_samples);
    checking.seed = static_cast<std::uint64_t>(options_.seed);
    checking.roundoff = roundoff(precision());
    EGRET_ASSIGN_OR_RETURN(const OutputCheck expected, OutputCheck::of(original_, checking));
    EGRET_ASSIGN_OR_RETURN(report_.check, expected.check([&](std::span<const ir::Tensor> inputs) {
      return chosen_plan_->run(inputs);
    }));
    report_.checked = true;
    phase("check", watch.seconds());
    return report_.check.passed ? base::ok() : mismatch_of(report_.check);
  }

  std::string status_of(std::string_view rule_name) const {
    const auto rule = std::ranges::find(rules_.rules, rule_name, &rules::Rule::name);
    if (rule == rules_.rules.end()) return "dynamic";
    return std::string(rules::to_string(statuses_.of(*rule)));
  }

  base::Status compile(const ir::Graph& graph, std::unique_ptr<backends::Plan>& plan) {
    EGRET_ASSIGN_OR_RETURN(plan, compile_batch(*backend_, graph, plan_options()));
    return base::ok();
  }
  // Unless it is compiled already.
  base::Status compile(Candidate& candidate) {
    return candidate.plan != nullptr ? base::ok() : compile(candidate.graph, candidate.plan);
  }

  int threads() const { return static_cast<int>(options_.threads); }
  backends::Precision precision() const { return backends::precision_named(options_.precision); }
  Execution execution() const { return {options_.backend, threads(), precision()}; }
  backends::PlanOptions plan_options() const {
    return {.threads = threads(),
            .profile = predicts_by_kernels(),
            .limit_arena = options_.limit_arena,
            .precision = precision()};
  }
  rules::TensorEGraph& tensors() { return *saturated_.tensors; }
  void phase(std::string name, double seconds) {
    report_.seconds_by_phase.emplace_back(std::move(name), seconds);
  }

  // What the result depends on besides the input; nothing that changes from run to run.
  void write_manifest() {
    report_.manifest["egret.rules"] = options_.rules;
    report_.manifest["egret.rule_set_hash"] = report_.rule_set_hash;
    report_.manifest["egret.rules_allowed"] = report_.rules_allowed;
    report_.manifest["egret.extractor"] = report_.extractor;
    report_.manifest["egret.cost"] = report_.cost_model;
    report_.manifest["egret.seed"] = std::to_string(options_.seed);
    report_.manifest["egret.limits"] = "nodes=" + std::to_string(options_.limit_nodes) +
                                       " iterations=" + std::to_string(options_.limit_iterations);
    if (!forbidden_.empty()) report_.manifest["egret.forbidden"] = forbidden_.names();
    if (precision() != backends::Precision::kF32)
      report_.manifest["egret.precision"] = options_.precision;
    report_.manifest["egret.status"] = report_.status;
    if (!costs_.machine.empty()) report_.manifest["egret.machine"] = costs_.machine;
    if (report_.rates.measured) report_.manifest["egret.rates"] = "measured";
  }

  const ir::Graph& original_;
  const OptimizeOptions& options_;
  base::ProgressSink* sink_;

  rules::RuleSet rules_;
  rules::RuleStatuses statuses_;
  ForbiddenOperators forbidden_;
  std::vector<double> factors_;  // on prices, by node of the view; empty: none
  const extract::ExtractorRow* extractor_ = nullptr;
  const GraphSearchRow* search_ = nullptr;  // instead of an extractor
  const backends::Backend* backend_ = nullptr;
  std::string machine_;  // machine_fingerprint()
  CostChoice costs_;
  Profiler profiler_;
  SaturatedGraph saturated_;
  rules::FoldedValues folded_;         // of the candidates
  Prediction before_;                  // of the original
  std::vector<Candidate> candidates_;  // the cheapest first
  ir::Graph chosen_;
  std::unique_ptr<backends::Plan> chosen_plan_;
  OptimizeReport report_;
};

}  // namespace

int operator_count(const std::map<std::string, int>& by_type) {
  int sum = 0;
  for (const auto& [type, count] : by_type) sum += count;
  return sum;
}

base::Result<OptimizeResult> optimize(const ir::Graph& graph, const OptimizeOptions& options,
                                      base::ProgressSink* progress) {
  return Pipeline(graph, options, progress).run();
}

}  // namespace egret::driver
