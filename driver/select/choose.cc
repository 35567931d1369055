// SPDX-License-Identifier: Apache-2.0
#include "driver/select/choose.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>
#include <span>
#include <string>
#include <utility>

#include "base/hash.h"
#include "base/random.h"
#include "base/stop.h"
#include "base/timer.h"
#include "driver/measure/race.h"
#include "driver/prices/movement_costs.h"
#include "driver/select/kernel_choice.h"
#include "driver/select/memory_fit.h"
#include "ir/ops/opaque.h"

namespace egret::driver {
namespace {

// A clear gain: the error of a sum of operators' times.
constexpr double kClearGain = 1.15;

bool fits(const backends::ExecutablePlan& plan, std::int64_t limit_arena) {
  return limit_arena == 0 || plan.report().arena_bytes <= limit_arena;
}

// One selection after the other from one view of the e-graph.
class Chooser {
 public:
  Chooser(const rules::AdmittedRules& rules, rules::SaturatedGraph& saturated,
          const ForbiddenOperators& forbidden, const CostChoice& costs, Profiler& profiler,
          const ChooseOptions& options)
      : rules_(rules),
        saturated_(saturated),
        forbidden_(forbidden),
        costs_(costs),
        profiler_(profiler),
        options_(options),
        view_(egraph::make_view(tensors().egraph(), tensors().roots())),
        pool_(forbidden, *costs.model, profiler, saturated.tensors->open_sizes()) {
    selection_.extractor = options.extractor;
    selection_.extraction.time_limit_s = options.extract_seconds;
    selection_.factors = forbidden.factors(tensors(), view_);
    if (options.keep_nodes_whole) keep_nodes_whole();
  }

  base::Result<std::vector<Candidate>> run() {
    // The candidates of a race: the cheapest graph by prices, one whose rewrites must gain clearly,
    // and one with the program's own operators only. Prices are sums over operators and therefore
    // inexact, so the race decides.
    EGRET_RETURN_IF_ERROR(add_cheapest("cheapest"));
    if (options_.second_model != nullptr) EGRET_RETURN_IF_ERROR(add_by_second_model());
    if (!options_.only_cheapest && !options_.only_clear_gains)
      EGRET_RETURN_IF_ERROR(add_least_movement());
    EGRET_RETURN_IF_ERROR(learn_in_graphs());
    if (!options_.only_cheapest) {
      EGRET_RETURN_IF_ERROR(add("conservative", own_factor(kClearGain)));
      EGRET_RETURN_IF_ERROR(add("simplified", own_factor(std::numeric_limits<double>::infinity())));
    }
    if (options_.learn) EGRET_RETURN_IF_ERROR(pool_.predict_again());
    for (std::int64_t i = 1; i <= options_.alternatives; ++i)
      EGRET_RETURN_IF_ERROR(add("alternative " + std::to_string(i), alternative(i)));
    if (pool_.candidates().empty() && forbidden_.empty()) EGRET_RETURN_IF_ERROR(add_original());
    if (pool_.candidates().empty()) return nothing_without_forbidden();
    if (chooses_kernels()) EGRET_RETURN_IF_ERROR(add_by_kernels());
    if (options_.plan.limit_arena > 0) EGRET_RETURN_IF_ERROR(keep_to_arena());
    return std::move(pool_.candidates());
  }

 private:
  rules::TensorEGraph& tensors() const { return *saturated_.tensors; }

  bool chooses_kernels() const {
    return options_.kernels_from != ChooseOptions::KernelsFrom::kBackend || options_.lays_out;
  }

  base::Status add_cheapest(std::string name) {
    return add(std::move(name), own_factor(options_.only_clear_gains ? kClearGain : 1));
  }

  base::Status add_by_second_model() {
    SelectionOptions selection = own_factor(options_.only_clear_gains ? kClearGain : 1);
    return add("cheapest on the backend", selection, *options_.second_model,
               *options_.second_profiler);
  }

  // Each operator that only moves data costs an average operator more.
  base::Status add_least_movement() {
    if (pool_.candidates().empty()) return base::ok();
    const Candidate& cheapest = pool_.candidates().front();
    const int operators = operator_count(cheapest.operators);
    if (operators == 0 || count_of_moves(cheapest.graph) == 0) return base::ok();
    MovementCosts model(*costs_.model, cheapest.prediction.seconds / operators);
    return add("least movement", own_factor(1), model, profiler_);
  }

  // Each round learns from the candidates that are new. They all take part in the race.
  base::Status learn_in_graphs() {
    constexpr int kRounds = 4;
    if (!options_.learn) return base::ok();
    std::size_t known = 0;
    for (int round = 2; round <= kRounds && profiler_.may_measure(); ++round) {
      bool has_learned = false;
      for (; known < pool_.candidates().size(); ++known) {
        const base::Stopwatch watch;
        const Candidate& one = pool_.candidates()[known];
        // An engine may refuse a candidate.
        const auto learned = options_.learn(one.written.size() > 0 ? one.written : one.graph);
        has_learned = has_learned || (learned.ok() && *learned);
        profiler_.spent_s += watch.seconds();
      }
      if (!has_learned) return base::ok();
      EGRET_RETURN_IF_ERROR(add_cheapest("cheapest in graphs " + std::to_string(round)));
    }
    return base::ok();
  }

  // The other e-nodes of an opaque node's class are too dear.
  void keep_nodes_whole() {
    std::vector<double>& factors = selection_.factors;
    factors.resize(view_.node_count(), 1);
    const rules::TensorLanguage& language = tensors().language();
    const auto is_output_of_node = [&](extract::NodeIndex node) {
      const egraph::OpId op = view_.node_op[node];
      return language.kind(op) == ir::NodeKind::kOperator &&
             &language.op(op) == &ir::opaque_output();
    };
    for (std::size_t c = 0; c < view_.class_count(); ++c) {
      const auto nodes = std::views::iota(view_.class_begin[c], view_.class_begin[c + 1]);
      if (std::ranges::none_of(nodes, is_output_of_node)) continue;
      for (const extract::NodeIndex node : nodes)
        factors[node] *= is_output_of_node(node) ? 1 : kTooDear;
    }
  }

  SelectionOptions own_factor(double price_of_new) const {
    SelectionOptions selection = selection_;
    selection.price_of_new = price_of_new;
    return selection;
  }

  SelectionOptions alternative(std::int64_t number) const {
    SelectionOptions selection = selection_;
    selection.spread = options_.alternative_spread;
    selection.seed = base::hash_combine(options_.seed, static_cast<std::uint64_t>(number));
    selection.kept = base::Random(selection.seed).uniform(0, options_.alternative_kept);
    return selection;
  }

  base::Status add(std::string name, const SelectionOptions& selection) {
    return add(std::move(name), selection, *costs_.model, profiler_);
  }

  base::Status add(std::string name, SelectionOptions selection, cost::Model& model,
                   Profiler& profiler) {
    selection.extraction.seed = options_.seed;
    if (options_.keep_answers) selection.answers = costs_.database.get();
    const auto selected = select(tensors(), view_, model, profiler, selection, options_.progress);
    const bool no_term = selected.status().code() == base::StatusCode::kBadInput;
    // A rule may have hidden one of the program's own operators.
    if (no_term && std::isinf(selection.price_of_new)) return base::ok();
    if (no_term && !forbidden_.empty()) return nothing_without_forbidden();
    EGRET_RETURN_IF_ERROR(selected.status());
    return add(std::move(name), *selected);
  }

  base::Status add(std::string name, const SelectionResult& selected) {
    const rules::Selection nodes = tensors().from_view(view_, selected.solution.choice);
    Candidate candidate{.name = std::move(name)};
    std::vector<egraph::NodeId> origins;
    EGRET_ASSIGN_OR_RETURN(const ir::Graph extracted,
                           tensors().to_graph(nodes, tensors().roots(), &origins));
    mark(candidate, origins, nodes);
    candidate.solution = selected.solution;
    candidate.estimated = selected.estimated;
    const std::size_t before = pool_.candidates().size();
    EGRET_RETURN_IF_ERROR(add_to_pool(std::move(candidate), extracted));
    if (chooses_kernels() && pool_.candidates().size() > before)
      programs_.push_back(with_origins(pool_.candidates().back().graph, extracted, origins));
    return base::ok();
  }

  // The rules that made the nodes of a candidate's graph.
  void mark(Candidate& candidate, const std::vector<egraph::NodeId>& origins,
            const rules::Selection& nodes) const {
    for (std::size_t i = 0; i < origins.size(); ++i) {
      if (!origins[i].valid()) continue;
      const std::uint32_t rule = tensors().creator(origins[i]);
      if (rule < saturated_.rules.size())
        candidate.made_by[ir::NodeId(i)] = saturated_.rules[rule].name();
    }
    for (const rules::RuleUse& use : rules::rules_used(tensors(), saturated_.rules, nodes))
      candidate.rules_used.push_back(rule_count(rules_, use.name, use.applied));
  }

  static GivenProgram with_origins(const ir::Graph& folded, const ir::Graph& extracted,
                                   const std::vector<egraph::NodeId>& origins) {
    GivenProgram program{.graph = folded};
    for (const ir::NodeId source : counterparts(extracted, folded))
      program.origins.push_back(source.valid() ? origins[source.index()] : egraph::NodeId());
    return program;
  }

  // The candidates, and the program itself. Kernels are first chosen for the cheapest graph and for
  // the program.
  base::Result<std::vector<GivenProgram>> given_programs() {
    std::vector<GivenProgram> given = programs_;
    if (!given.empty()) given.front().is_start = true;
    std::vector<egraph::NodeId> origins;
    EGRET_ASSIGN_OR_RETURN(const ir::Graph program,
                           tensors().to_graph(tensors().original(), tensors().roots(), &origins));
    const auto folded = rules::fold_constants(program, {.should_stop = base::stop_requested});
    if (!folded.ok() && base::stop_requested()) return given;
    if (!folded.ok()) {
      if (given.empty()) return folded.status();
      notes_.push_back("no kernels were chosen for the program as it was: " +
                       folded.status().message());
      return given;
    }
    if (forbidden_.any_in(*folded)) return given;
    GivenProgram original = with_origins(*folded, program, origins);
    original.is_start = true;
    const std::string identity = identity_of(original.graph);
    const auto same = std::ranges::find_if(
        given, [&](const GivenProgram& one) { return identity_of(one.graph) == identity; });
    if (same == given.end()) {
      given.push_back(std::move(original));
    } else {
      same->is_start = true;
    }
    return given;
  }

  base::Status add_by_kernels() {
    KernelChoiceOptions choosing{.extractor = options_.extractor,
                                 .extraction = selection_.extraction,
                                 .factors = selection_.factors,
                                 .backend = options_.backend,
                                 .plan = options_.plan,
                                 .kept = options_.kept,
                                 .keep_answers = options_.keep_answers,
                                 .seconds = options_.kernel_seconds,
                                 .error_budget = options_.error_budget};
    choosing.extraction.seed = options_.seed;
    choosing.only_graph = options_.kernels_from == ChooseOptions::KernelsFrom::kGraph;
    choosing.keep_division = options_.kernels_from == ChooseOptions::KernelsFrom::kBackend;
    choosing.lays_out = options_.lays_out;
    EGRET_ASSIGN_OR_RETURN(const std::vector<GivenProgram> given, given_programs());
    auto choice =
        choose_kernels(tensors(), view_, *costs_.model, given, choosing, options_.progress);
    // The other candidates are an answer, too.
    if (!choice.ok() && base::stop_requested()) return base::ok();
    // Where nothing but layouts was asked for, a backend may have none to choose from.
    if (choosing.keep_division && choice.status().code() == base::StatusCode::kUnsupported) {
      pool_.candidates().front().solution.notes.push_back("no layouts were chosen: " +
                                                          choice.status().message());
      return base::ok();
    }
    EGRET_RETURN_IF_ERROR(choice.status());
    KernelChoice& chosen = *choice;
    chosen.solution.notes.insert(chosen.solution.notes.end(), notes_.begin(), notes_.end());
    std::vector<Candidate>& known = pool_.candidates();
    for (std::size_t i = 0; i < std::min(known.size(), chosen.times_of_given.size()); ++i) {
      KernelTimes& times = chosen.times_of_given[i];
      if (times.measured) {
        known[i].prediction = prediction_of(std::move(times));
      } else if (chosen.times.measured && !base::stop_requested()) {
        auto divided =
            predict_as_divided(known[i].graph, *options_.backend, options_.plan, options_.kept);
        if (!divided.ok() && !base::stop_requested()) return divided.status();
        if (divided.ok()) known[i].prediction = *std::move(divided);
      }
    }
    if (chosen.given && *chosen.given < known.size()) {  // it goes first
      std::rotate(known.begin(), known.begin() + static_cast<std::ptrdiff_t>(*chosen.given),
                  known.begin() + static_cast<std::ptrdiff_t>(*chosen.given) + 1);
      known.front().solution = std::move(chosen.solution);
      if (options_.error_budget != nullptr) known.front().forms = chosen.forms;
      return base::ok();
    }
    Candidate candidate{.name = chosen.given ? "original" : "kernels"};
    rules::Selection nodes;
    nodes.node_of.resize(tensors().egraph().id_count());
    for (const egraph::NodeId node : chosen.program.origins) {
      if (node.valid()) nodes.node_of[tensors().egraph().class_of(node).index()] = node;
    }
    mark(candidate, chosen.program.origins, nodes);
    candidate.extracted = std::move(chosen.program.extracted);
    candidate.graph = std::move(chosen.program.graph);
    candidate.division = std::move(chosen.program.division);
    candidate.layouts = std::move(chosen.program.layouts);
    candidate.prediction = prediction_of(std::move(chosen.times));
    candidate.solution = std::move(chosen.solution);
    candidate.estimated = candidate.prediction.estimated;
    if (options_.error_budget != nullptr) candidate.forms = chosen.forms;
    return pool_.add_divided(std::move(candidate));
  }

  // A graph that cannot be written as ONNX, such as one that needs a size which no value has where
  // it is needed, is no candidate.
  base::Status add_to_pool(Candidate candidate, const ir::Graph& graph) {
    base::Status added = pool_.add(std::move(candidate), graph);
    return added.code() == base::StatusCode::kUnsupported ? base::ok() : added;
  }

  // The program itself.
  base::Status add_original() {
    EGRET_ASSIGN_OR_RETURN(const ir::Graph program, tensors().to_graph(tensors().original()));
    return pool_.add({.name = "original"}, program);
  }

  base::Status nothing_without_forbidden() const {
    return base::unsupported("--forbid: no equivalent graph was found without " +
                             forbidden_.names());
  }

  base::Status drop_too_large() {
    std::vector<Candidate>& candidates = pool_.candidates();
    for (Candidate& candidate : candidates)
      EGRET_RETURN_IF_ERROR(compile(candidate, *options_.backend, options_.plan));
    std::erase_if(candidates, [&](const Candidate& candidate) {
      return !fits(*candidate.plan, options_.plan.limit_arena);
    });
    return base::ok();
  }

  // Where the cheapest graph takes too much memory, another one is looked for. The bound of the
  // cheapest holds for it too: the limit only takes graphs away.
  base::Status keep_to_arena() {
    std::vector<Candidate>& candidates = pool_.candidates();
    const std::string cheapest = candidates.front().identity;
    const double bound = candidates.front().solution.bound;
    EGRET_RETURN_IF_ERROR(drop_too_large());
    if (!candidates.empty() && candidates.front().identity == cheapest) return base::ok();
    const MemoryFitOptions fitting{.limit_bytes = options_.plan.limit_arena,
                                   .seconds = options_.fit_seconds,
                                   .selection = selection_,
                                   .backend = options_.backend,
                                   .plan = options_.plan};
    EGRET_ASSIGN_OR_RETURN(
        MemoryFitResult found,
        fit_memory(tensors(), view_, *costs_.model, profiler_, fitting, options_.progress));
    if (found.fit) {
      extract::Solution& solution = found.fit->selected.solution;
      solution.bound = std::min(bound, solution.dag_cost);
      solution.quality = extract::Quality::kFeasible;
      EGRET_RETURN_IF_ERROR(add("fitting", found.fit->selected));
      EGRET_RETURN_IF_ERROR(drop_too_large());
    }
    std::ranges::stable_sort(
        candidates, {}, [](const Candidate& candidate) { return candidate.prediction.seconds; });
    return candidates.empty() ? nothing_fits(found, options_.plan.limit_arena) : base::ok();
  }

  const rules::AdmittedRules& rules_;
  rules::SaturatedGraph& saturated_;
  const ForbiddenOperators& forbidden_;
  const CostChoice& costs_;
  Profiler& profiler_;
  const ChooseOptions& options_;
  const egraph::EGraphView view_;
  SelectionOptions selection_;  // without what differs between candidates
  CandidatePool pool_;
  std::vector<GivenProgram> programs_;  // candidates that the backend divides by itself
  std::vector<std::string> notes_;      // on programs that are left out
};

}  // namespace

base::Result<std::vector<Candidate>> choose(const rules::AdmittedRules& rules,
                                            rules::SaturatedGraph& saturated,
                                            const ForbiddenOperators& forbidden,
                                            const CostChoice& costs, Profiler& profiler,
                                            const ChooseOptions& options) {
  return Chooser(rules, saturated, forbidden, costs, profiler, options).run();
}

}  // namespace egret::driver
