// SPDX-License-Identifier: Apache-2.0
#include "parallel/plan/planner.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <set>
#include <utility>

#include "base/stop.h"
#include "base/system/thread_pool.h"
#include "base/timer.h"
#include "extract/core/extractor.h"
#include "parallel/placed/placed_egraph.h"
#include "parallel/placement/block_counts.h"
#include "parallel/plan/algebra_first.h"
#include "parallel/plan/independent_work.h"
#include "parallel/plan/plan_recomputation.h"
#include "parallel/plan/program_writer.h"
#include "parallel/plan/regather.h"
#include "parallel/plan/strategies.h"
#include "parallel/plan/tied_layers.h"
#include "parallel/ring/table_rows.h"
#include "rules/tensors/constant_folding.h"
#include "rules/tensors/saturated_graph.h"

namespace egret::parallel {
namespace {

using base::Result;
using base::Status;

constexpr int kTightenings = 6;
// Of the limit, for what is held all the time where other values are computed again.
constexpr double kHeldShares[] = {1, 0.75};
constexpr std::size_t kMostExplained = 24;
// The share of the time for tied layers that goes to a first look at all placements between them.
constexpr double kLookShare = 0.3;
constexpr double kLeastSeconds = 0.05;
constexpr double kTolerance = 1e-9;  // of the cost
// Shares of the independent computing that are taken to hide an exchange.
constexpr double kHidden[] = {1, 0.3, 0.1};

constexpr std::string_view kBodies = "expand-composites";

inline constexpr base::ProgressColumn kPlacedValues{"placed_values", "placed values",
                                                    base::ProgressColumn::Unit::kCount,
                                                    "values of the program under placements"};

template <typename Rows>
std::vector<std::string> names_of(const Rows& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.emplace_back(row.name);
  return names;
}

// Adds the bodies of all composites, where the rules have them. A run that ended at a limit found
// programs without adding their bodies, and a body may have a faster plan than its composite:
// without this, the cheapest program alone (`sequential`) could have a better plan than all
// programs.
Status add_bodies(rules::SaturatedGraph& equal, std::span<const std::int64_t> blocks,
                  rules::SaturateOptions options) {
  if (std::ranges::find(equal.rules, kBodies, &rules::CompiledRule::name) == equal.rules.end())
    return base::ok();
  std::vector<rules::CompiledRule> bodies;
  std::ranges::copy_if(equal.rules, std::back_inserter(bodies), [&](const auto& rule) {
    return rule.name() == kBodies || std::ranges::any_of(blocks, [&](std::int64_t count) {
             return rule.name() == name_of_table_rows(count);
           });
  });
  options.limits.nodes += equal.tensors->egraph().node_count();
  options.threads = &base::shared_pool();
  const egraph::RunReport run = rules::saturate(*equal.tensors, bodies, options).run;
  if (run.stop != egraph::StopReason::kConflict) return base::ok();
  return base::internal_error("rules contradict each other: " + run.conflict.message());
}

// The program's saturated e-graph.
Result<rules::SaturatedGraph> saturated(const ir::Graph& graph, std::string_view rules,
                                        std::span<const std::int64_t> blocks,
                                        const ParallelPlanOptions& options,
                                        base::ProgressSink* sink) {
  EGRET_ASSIGN_OR_RETURN(const auto admitted, rules::AdmittedRules::select(rules, options.allow));
  rules::SaturateOptions saturation;
  saturation.limits.nodes = static_cast<std::uint64_t>(options.limit_nodes);
  saturation.progress = sink;
  EGRET_ASSIGN_OR_RETURN(
      rules::SaturatedGraph equal,
      rules::saturate(graph, admitted, saturation, 0, [&](rules::TensorEGraph& tensors) {
        return rules_for_table_rows(tensors, blocks);
      }));
  if (equal.run.stop != egraph::StopReason::kSaturated && !base::stop_requested())
    EGRET_RETURN_IF_ERROR(add_bodies(equal, blocks, saturation));
  return equal;
}

// The options of each extraction: the time limit, and stopping on request.
extract::Options extraction(const ParallelPlanOptions& options) {
  extract::Options extraction;
  extraction.time_limit_s = options.extract_time;
  extraction.should_stop = base::stop_requested;
  return extraction;
}

// The program that is to be distributed.
Result<ir::Graph> rewritten(ir::Graph graph, const Cluster& machine,
                            const ParallelPlanOptions& options, base::ProgressSink* sink) {
  if (!options.sequential) return graph;
  EGRET_ASSIGN_OR_RETURN(const auto program, saturated(graph, options.rules, {}, options, sink));
  const auto model = cost::make_model("roofline", machine.rates);
  return cheapest_on_one_device(*program.tensors, *model,
                                *extract::find_extractor(options.extractor), extraction(options));
}

// Nullptr for Egret's own, and where there is none of this name.
const PlanSearchRow* other_search(std::string_view name) {
  const auto found = std::ranges::find(plan_searches(), name, &PlanSearchRow::name);
  return found == plan_searches().end() ? nullptr : &*found;
}

// The best plan among those of a placed e-graph.
class PlanSearch {
 public:
  // If the task has fewer layers than `whole`, plans are expanded to the latter.
  // `candidates`: where to collect plans to compute values again in; nullptr: nowhere.
  PlanSearch(const PlacedEGraph& placed, const Cluster& machine, const PlanTask& task,
             const ParallelPlanOptions& options, const ir::Graph& whole, const FewerLayers* fewer,
             std::vector<PlanCandidate>* candidates)
      : placed_(placed),
        candidates_(candidates),
        carried_(task.carried),
        outputs_(names_of(task.graph.outputs())),
        searches_(options.searches),
        other_(other_search(options.search)),
        explains_(options.explain),
        baselines_(options.baselines),
        simulate_(options.overlap ? options.simulate : nullptr),
        memory_(options.overlap ? machine.memory_limit(options.device_memory) : 0),
        machine_(machine),
        whole_(whole),
        pricing_(placed, machine, task.carried, outputs_) {
    if (fewer != nullptr) {
      tied_.emplace(placed_, pricing_.view(), *fewer);
      pricing_.count(tied_->counts());
      search_.without = tied_->crossing();
    }
    search_.extractor = extract::find_extractor(options.extractor);
    search_.options = extraction(options);
    search_.strategy = find_strategy(options.strategy);
    search_.copied_inputs = options.strategy == "any" && !options.sharded_inputs;
  }

  // Finds the cheapest plan and fills `plan`.
  Status run(ParallelPlan& plan) {
    plan.placed_values = pricing_.view().class_count();
    plan.placed_nodes = pricing_.view().node_count();
    find_baselines(plan);
    const base::Stopwatch watch;
    Result<extract::Solution> found = base::limit_hit("interrupted; no plan was made");
    if (!base::stop_requested()) found = other_ != nullptr ? by_other_search() : cheapest();
    if (found.status().code() == base::StatusCode::kLimit && known_ && other_ == nullptr &&
        search_.strategy->name == "any") {
      // No plan was found in time, but a baseline was.
      found = *known_;
      found->bound = 0;
    }
    if (!found.ok()) return found.status();
    const double seconds = watch.seconds();
    EGRET_RETURN_IF_ERROR(take(*found, plan));
    offer(*found);
    plan.bound_s = found->bound;
    if (simulate_) EGRET_RETURN_IF_ERROR(improve_overlap(*found, plan));
    if (explains_) explain(*found, plan);
    if (!searches_ || !carried_.empty()) return base::ok();
    plan.searches.push_back({"egret", found->dag_cost, 1, seconds, true});
    const std::vector<double> costs = pricing_.costs_of(search_);
    const PlanSpace space(placed_, pricing_.view(), costs);
    std::ranges::copy(run_plan_searches(space, pricing_.view(), costs),
                      std::back_inserter(plan.searches));
    return base::ok();
  }

  // Finds the cheapest plan within the memory limit; if there is none, the one with the least
  // memory. Each round thus asks for less than the limit, until the written program fits, no plan
  // satisfies the rows, or kTightenings rounds have passed.
  Status run_within(ParallelPlan& plan) {
    find_baselines(plan);
    search_.memory = plan.limit_bytes;
    if (const auto least = pricing_.leanest(search_); least.ok()) {
      EGRET_RETURN_IF_ERROR(take_if_smaller(*least, plan).status());
      offer(*least);
    }
    for (int i = 0; i < kTightenings; ++i) {
      const auto found = cheapest();
      if (found.status().code() == base::StatusCode::kLimit) break;
      if (!found.ok()) return found.status();
      EGRET_ASSIGN_OR_RETURN(const double bytes, take_if_smaller(*found, plan));
      offer(*found);
      if (bytes <= plan.limit_bytes) {
        EGRET_RETURN_IF_ERROR(take(*found, plan));
        if (explains_) explain(*found, plan);
        break;
      }
      // The rows underestimate: tighten them by the factor by which the written program exceeds the
      // limit.
      search_.memory *= plan.limit_bytes / bytes;
    }
    if (candidates_ != nullptr) offer_held(plan.limit_bytes);
    return base::ok();
  }

 private:
  void offer(const extract::Solution& solution) const {
    if (candidates_ != nullptr)
      candidates_->push_back({program_of(solution), pricing_.seconds_of(solution)});
  }

  // Plans of which only what is held all the time keeps to the limit, or leaves a part of it for
  // other values.
  void offer_held(double limit) const {
    Pricing::Search search = search_;
    search.held_only = true;
    for (const double share : kHeldShares) {
      if (base::stop_requested()) return;
      search.memory = share * limit;
      if (const auto found = cheapest(search); found.ok()) offer(*found);
    }
  }

  // The plan of another planner's search, at the same costs; it has no bound.
  Result<extract::Solution> by_other_search() const {
    const std::vector<double> costs = pricing_.costs_of(search_);
    const PlanSpace space(placed_, pricing_.view(), costs);
    FoundPlan found = other_->run(space, pricing_.view(), costs, {});
    if (found.nodes.empty())
      return base::limit_hit("the search " + std::string(found.search) + " found no plan");
    return extract::solution_of({pricing_.view(), costs}, std::move(found.nodes));
  }

  Result<extract::Solution> cheapest() const {
    // A baseline is a plan of the strategy "any" only.
    const bool known = known_ && search_.strategy->name == "any";
    auto found = cheapest(search_, known ? &*known_ : nullptr);
    if (found.status().code() == base::StatusCode::kBadInput) {
      return base::bad_input("no plan exists for --strategy " +
                             std::string(search_.strategy->name) +
                             ": a tensor cannot be cut into equal blocks");
    }
    return found;
  }

  Result<extract::Solution> cheapest(const Pricing::Search& search,
                                     const extract::Solution* known = nullptr) const {
    return tied_ ? cheapest_tied(search) : pricing_.cheapest(search, known);
  }

  // The subproblem with one placement of the value between layers, and its bounds.
  struct Tied {
    Pricing::Search search;
    double bound = 0;  // none of them costs less
    bool proven = false;
  };

  // Branch and bound over the placement between layers. With it fixed, the parts before and behind
  // separate. A short look at each placement gives plans and lower bounds, which exclude most
  // placements. The remaining one with the least bound is searched again with twice the time, until
  // its bound exceeds the best plan. The bound of the result is the least bound of all placements:
  // an excluded placement costs at least that much.
  Result<extract::Solution> cheapest_tied(const Pricing::Search& search) const {
    const auto deadline = base::Deadline::after(search.options.time_limit_s);
    std::vector<Tied> ways;
    for (const Placement& placement : tied_->placements()) {
      ways.push_back({search});
      std::ranges::copy(tied_->nodes_against(placement),
                        std::back_inserter(ways.back().search.without));
    }
    Result<extract::Solution> best = base::bad_input("no plan with equal layers was found");
    const double look = kLookShare * deadline.remaining() / static_cast<double>(ways.size());
    for (Tied& way : ways) EGRET_RETURN_IF_ERROR(look_at(way, look, best));
    const auto stopped = [&] { return search.options.should_stop && search.options.should_stop(); };
    while (!ways.empty() && best.ok() && !deadline.expired() && !stopped()) {
      Tied& least = *std::ranges::min_element(ways, {}, &Tied::bound);
      if (least.proven || least.bound >= best->dag_cost * (1 - kTolerance)) break;
      const double seconds = std::min(2 * least.search.options.time_limit_s, deadline.remaining());
      EGRET_RETURN_IF_ERROR(look_at(least, seconds, best));
    }
    if (!best.ok()) return best;
    best->bound = best->dag_cost;
    for (const Tied& way : ways) best->bound = std::min(best->bound, way.bound);
    return best;
  }

  // A placement without a plan is excluded only if that is proven. One for which no plan was found
  // in time keeps its bound.
  base::Status look_at(Tied& way, double seconds, Result<extract::Solution>& best) const {
    way.search.options.time_limit_s = std::max(seconds, kLeastSeconds);
    auto found = pricing_.cheapest(way.search);
    if (!found.ok()) {
      const base::Status& status = found.status();
      // Bad input: some root has no finite term once the placement's nodes are forbidden.
      if (status.code() == base::StatusCode::kBadInput || extract::is_infeasible(status)) {
        way.bound = std::numeric_limits<double>::infinity();
        way.proven = true;
        return base::ok();
      }
      return status.code() == base::StatusCode::kLimit ? base::ok() : status;
    }
    way.bound = std::max(way.bound, found->bound);
    way.proven = found->quality == extract::Quality::kOptimal;
    if (!best.ok() || found->dag_cost < best->dag_cost) best = std::move(found);
    return base::ok();
  }

  PlacedGraph program_of(const extract::Solution& solution) const {
    WrittenProgram program =
        write_program(placed_, pricing_.view(), solution, outputs_, carried_, pricing_.schedule());
    return tied_ ? tied_->repeated(program, whole_) : std::move(program.graph);
  }
  Status take(const extract::Solution& solution, ParallelPlan& plan) const {
    EGRET_ASSIGN_OR_RETURN(auto timed, timed_program_of(solution));
    plan.program = std::move(timed.first);
    plan.time_s = timed.second;
    plan.overlaps = static_cast<bool>(simulate_);
    plan.sequential_s = pricing_.seconds_of(solution);
    plan.memory_bytes = peak_bytes(plan.program);
    return base::ok();
  }

  // With its seconds. Where exchanges overlap, it has an order for that, unless it would exceed the
  // memory in this order.
  Result<std::pair<PlacedGraph, double>> timed_program_of(const extract::Solution& solution) const {
    PlacedGraph program = program_of(solution);
    if (!simulate_) return std::pair(std::move(program), pricing_.seconds_of(solution));
    PlacedGraph ordered = program;
    EGRET_ASSIGN_OR_RETURN(double seconds, simulate_(ordered, true));
    if (memory_ <= 0 || peak_bytes(ordered) <= memory_)
      return std::pair(std::move(ordered), seconds);
    EGRET_ASSIGN_OR_RETURN(seconds, simulate_(program, false));
    return std::pair(std::move(program), seconds);
  }

  // Prices of single nodes do not know what hides an exchange. Plans with several credits for it
  // are simulated, and the best is taken. FOUND is the best plan without any. The bound: a step
  // takes at least its computing, and at least half of computing and exchanges together.
  Status improve_overlap(const extract::Solution& found, ParallelPlan& plan) {
    pricing_.set_independent(independent_seconds(placed_, machine_));
    Pricing::Search search = search_;
    const auto solved = [&]() -> Result<extract::Solution> {
      const extract::Solution known =
          extract::solution_of({pricing_.view(), pricing_.costs_of(search)}, found.choice);
      return cheapest(search, &known);
    };
    const double together = plan.bound_s;
    for (const double hidden : kHidden) {
      if (base::stop_requested()) return base::ok();
      search.hidden = hidden;
      const auto one = solved();
      if (!one.ok()) continue;
      EGRET_ASSIGN_OR_RETURN(auto timed, timed_program_of(*one));
      if (timed.second < plan.time_s) EGRET_RETURN_IF_ERROR(take(*one, plan));
    }
    const bool any = search_.strategy->name == "any";
    if (any && simulated_ && simulated_seconds_ < plan.time_s)
      EGRET_RETURN_IF_ERROR(take(*simulated_, plan));
    search.hidden = 0;
    search.free_exchanges = true;
    const auto computing = solved();
    plan.bound_s = std::max(together / 2, computing.ok() ? computing->bound : 0);
    plan.bound_s = std::min(plan.bound_s, plan.time_s);
    return base::ok();
  }
  // Takes the plan if it is smaller; returns its bytes.
  Result<double> take_if_smaller(const extract::Solution& solution, ParallelPlan& plan) const {
    const double bytes = peak_bytes(program_of(solution));
    if (bytes < plan.memory_bytes) EGRET_RETURN_IF_ERROR(take(solution, plan));
    return bytes;
  }

  // For each of the largest named leaves: the cheapest plan without its chosen placement. The
  // difference in time, split into sending and computing, says what the choice gains. Each
  // runner-up is an extraction of its own, hence the limit on the number of leaves.
  void explain(const extract::Solution& best, ParallelPlan& plan) const {
    plan.runners_up.clear();
    const std::vector<Pricing::NamedLeaf> leaves = pricing_.named_leaves(best);
    const double sending = pricing_.seconds_sending(best);
    for (const Pricing::NamedLeaf& leaf :
         std::span(leaves).first(std::min(leaves.size(), kMostExplained))) {
      RunnerUp row{.name = leaf.name, .placement = to_string(leaf.placement, placed_.mesh())};
      Pricing::Search search = search_;
      search.without.push_back(leaf.node);
      if (const auto found = cheapest(search); found.ok()) {
        row.time_s = pricing_.seconds_of(*found);
        row.sending_s = pricing_.seconds_sending(*found) - sending;
        row.computing_s = row.time_s - pricing_.seconds_of(best) - row.sending_s;
        for (const Pricing::NamedLeaf& other : pricing_.named_leaves(*found)) {
          if (other.name == leaf.name) row.other = to_string(other.placement, placed_.mesh());
        }
      }
      plan.runners_up.push_back(std::move(row));
    }
  }

  // Computes the named baselines; remembers the best one as a start for the search.
  void find_baselines(ParallelPlan& plan) {
    if (!baselines_) return;
    Pricing::Search search = search_;
    search.copied_inputs = false;
    for (const Strategy& strategy : strategies()) {
      if (!strategy.baseline || (strategy.training && carried_.empty())) continue;
      search.strategy = &strategy;
      auto found = cheapest(search);
      if (base::stop_requested()) return;
      if (!found.ok()) continue;
      const std::string name(strategy.name);
      double seconds = found->dag_cost;
      if (simulate_) {
        if (const auto timed = timed_program_of(*found); timed.ok()) seconds = timed->second;
        if (!search_.copied_inputs && (!simulated_ || seconds < simulated_seconds_)) {
          simulated_ = *found;
          simulated_seconds_ = seconds;
        }
      }
      plan.baselines.try_emplace(name, seconds);
      const bool divided = search_.copied_inputs && pricing_.divides_inputs(*found);
      plan.baseline_facts.try_emplace(name, BaselineFacts{peak_bytes(program_of(*found)), divided});
      if (search_.strategy->name == "any" && !divided) offer(*found);
      const bool better = !known_ || found->dag_cost < known_->dag_cost;
      if (better && !search_.copied_inputs) known_ = *std::move(found);
    }
  }

  const PlacedEGraph& placed_;
  std::vector<PlanCandidate>* const candidates_;
  const std::vector<Carried>& carried_;
  const std::vector<std::string> outputs_;
  const bool searches_;
  const PlanSearchRow* const other_;  // that makes the plan; nullptr: extraction does
  const bool explains_;
  const bool baselines_;
  const std::function<Result<double>(PlacedGraph&, bool)> simulate_;  // empty: nothing overlaps
  const double memory_;  // which an order for overlap keeps; 0: not limited
  const Cluster& machine_;
  const ir::Graph& whole_;
  Pricing pricing_;
  Pricing::Search search_;
  std::optional<TiedLayers> tied_;
  std::optional<extract::Solution> known_;  // the best baseline, where it may be the plan
  // The same in the simulation, where exchanges overlap.
  std::optional<extract::Solution> simulated_;
  double simulated_seconds_ = 0;
};

Status check_names(const PlanTask& task, const ParallelPlanOptions& options) {
  if (extract::find_extractor(options.extractor) == nullptr)
    return base::usage_error("unknown extractor '" + options.extractor + "'");
  const Strategy* strategy = find_strategy(options.strategy);
  if (strategy == nullptr) return base::usage_error("unknown strategy '" + options.strategy + "'");
  if (options.search != kOwnSearch && other_search(options.search) == nullptr)
    return base::usage_error("unknown search '" + options.search + "'");
  if (options.search != kOwnSearch && !task.carried.empty())
    return base::usage_error("--search " + options.search + " cannot be combined with --train");
  if (options.search != kOwnSearch && options.explain)
    return base::usage_error("--search " + options.search + " cannot be combined with --explain");
  if (options.overlap && !options.simulate)
    return base::usage_error("--overlap: exchanges do not run beside computation on this machine");
  if (options.layers == 1)
    return base::usage_error("--layers must be 0 (all layers) or at least 2");
  if (options.storage_rate > 0 && options.recompute_by != "search")
    return base::usage_error("--storage-rate needs --recompute-by search");
  if (strategy->training && task.carried.empty())
    return base::usage_error("--strategy " + options.strategy + " needs --train");
  return base::ok();
}

// Outputs arrive whole on every rank. Carried ones stay in the placement in which the next step
// reads them, whichever that is.
PlacedEGraph::Request request_for(const PlanTask& task, const Mesh& mesh) {
  PlacedEGraph::Request request;
  for (const auto& output : task.graph.outputs()) {
    const bool carried =
        std::ranges::find(task.carried, output.name, &Carried::output) != task.carried.end();
    const bool free = carried || task.free.contains(output.name);
    request.outputs.push_back(free ? std::nullopt : std::optional(Placement(mesh.axis_count())));
  }
  for (const Carried& one : task.carried) {
    request.carried.insert(one.input);
    if (one.again.empty()) continue;
    request.carried.insert(one.again);
    request.again[one.again] = one.input;
  }
  return request;
}

}  // namespace

Result<ParallelPlan> make_plan(const PlanTask& task, const Cluster& machine,
                               const ParallelPlanOptions& options, base::ProgressSink* sink,
                               const std::function<void(const ParallelPlan&)>& on_found) {
  const base::Stopwatch watch;
  const base::Progress progress(sink, "plan");
  EGRET_RETURN_IF_ERROR(check_names(task, options));
  EGRET_ASSIGN_OR_RETURN(const ir::Graph folded,
                         rules::fold_constants(task.graph, {.should_stop = base::stop_requested}));
  EGRET_ASSIGN_OR_RETURN(const ir::Graph program, rewritten(folded, machine, options, sink));
  const std::string rules = options.sequential ? std::string(kBodies) : options.rules;
  const std::vector<std::int64_t> blocks = block_counts(machine.mesh);
  ParallelPlan plan;
  plan.limit_bytes = machine.memory_limit(options.device_memory);
  std::vector<PlanCandidate> candidates;
  // Recomputations are priced without overlap.
  const bool recomputes =
      plan.limit_bytes > 0 && options.recompute_by != "none" && !options.overlap;
  const auto search = [&](const PlanTask& part, auto run, bool rings, const FewerLayers* fewer,
                          ParallelPlan& found) -> Status {
    PlacedEGraph::Request request = request_for(part, machine.mesh);
    request.rings = rings;
    EGRET_ASSIGN_OR_RETURN(const auto equal, saturated(part.graph, rules, blocks, options, sink));
    EGRET_ASSIGN_OR_RETURN(const auto placed,
                           PlacedEGraph::of(*equal.tensors, machine.mesh, request));
    if (rings && placed->ring_count() == 0) return base::limit_hit("the program has no ring");
    progress.report({{kPlacedValues, static_cast<std::int64_t>(placed->egraph().class_count())}});
    PlanSearch searching(*placed, machine, part, options, program, fewer,
                         recomputes ? &candidates : nullptr);
    return (searching.*run)(found);
  };
  std::optional<FewerLayers> fewer;
  const bool others = options.searches || options.search != kOwnSearch;
  if (options.layers > 0 && !others && task.carried.empty())
    fewer = with_fewer_layers(program, options.layers);
  // The short program may have no plan that ties its layers, because a tensor cannot be cut. All
  // layers are then planned.
  if (fewer) {
    const Status status = search({fewer->graph}, &PlanSearch::run, false, &*fewer, plan);
    if (!status.ok() && status.code() != base::StatusCode::kBadInput) return status;
    if (status.ok()) plan.layers = fewer->layers;
  }
  if (plan.layers == 0 && base::stop_requested())
    return base::limit_hit("interrupted; no plan was made");
  if (plan.layers == 0)
    EGRET_RETURN_IF_ERROR(
        search({program, task.carried, {}, task.free}, &PlanSearch::run, false, nullptr, plan));
  const bool exceeds = plan.limit_bytes > 0 && plan.memory_bytes > plan.limit_bytes;
  if (exceeds && options.search == kOwnSearch && !base::stop_requested()) {
    std::vector<Carried> carried = task.carried;
    // The fastest plan does not fit. The searches under the limit plan all layers, may gather
    // parameters twice, and may use rings.
    const ir::Graph twice = with_regathers(program, carried);
    plan.layers = 0;
    ParallelPlan ringed = plan;
    const Status within =
        search({twice, carried, {}, task.free}, &PlanSearch::run_within, false, nullptr, plan);
    // Interrupted, it leaves the plan that does not fit.
    if (!within.ok() && !base::stop_requested()) return within;
    // A ring sends what a gather does, in more steps: it is never better where there is room.
    const bool fits = plan.memory_bytes <= plan.limit_bytes;
    if (!base::stop_requested() && (!fits || plan.time_s > plan.bound_s * (1 + kTolerance))) {
      const Status status =
          search({twice, carried, {}, task.free}, &PlanSearch::run_within, true, nullptr, ringed);
      if (!status.ok() && status.code() != base::StatusCode::kLimit) return status;
      if (status.ok() && is_better(ringed, plan)) plan = std::move(ringed);
    }
    EGRET_RETURN_IF_ERROR(recompute_where_cheaper(
        std::move(candidates), machine,
        {options.recompute_by, options.recompute_time, static_cast<double>(options.storage_rate)},
        plan));
  }
  plan.interrupted = base::stop_requested();
  plan.communication = communication_of(plan.program, machine);
  plan.seconds = watch.seconds();
  if (on_found) on_found(plan);
  EGRET_ASSIGN_OR_RETURN(const PlanChecked checked,
                         check_plan(plan.program, folded, task.inputs, options.limit_check));
  plan.check = checked.check;
  plan.checking = checked.seconds;
  plan.seconds = watch.seconds();
  return plan;
}

}  // namespace egret::parallel
