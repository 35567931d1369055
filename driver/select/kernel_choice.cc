// SPDX-License-Identifier: Apache-2.0
#include "driver/select/kernel_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/hash.h"
#include "base/stop.h"
#include "base/timer.h"
#include "driver/measure/race.h"
#include "driver/select/extraction_cache.h"
#include "driver/select/kernel_forms.h"
#include "driver/select/piece_times.h"
#include "driver/select/selection.h"
#include "rules/tensors/constant_folding.h"

namespace egret::driver {
namespace {

using extract::ClassIndex;
using extract::NodeIndex;
using extract::Piece;

// Of the time, for the kernels of one graph.
constexpr double kShareOfGraph = 0.5;

inline constexpr base::ProgressColumn kKernels{
    "kernels", "kernels", base::ProgressColumn::Unit::kCount, "kernels measured in this run"};

// What the searches over one e-graph share.
struct Shared {
  const rules::TensorEGraph& tensors;
  const egraph::EGraphView& view;
  const std::vector<bool> leaves;
  const std::vector<double> costs;  // of the view's nodes, without factors
  PieceTimes times;
  rules::FoldedValues folded{};
  const base::Stopwatch watch{};
};

// The answer of another search: a choice of this piece for each kernel.
struct Start {
  KernelChoice choice;
  std::vector<Piece> pieces;
};

class Search {
 public:
  // Time is that of all searches, from the beginning of the first.
  Search(Shared& shared, const KernelChoiceOptions& options, base::ProgressSink* sink)
      : shared_(shared),
        tensors_(shared.tensors),
        view_(shared.view),
        options_(options),
        progress_(sink, "kernels"),
        leaves_(shared.leaves),
        costs_(shared.costs) {}

  // With a start, which is the first given program or better, the answer is that or better.
  base::Result<KernelChoice> run(std::span<const GivenProgram> given, std::optional<Start> start) {
    for (std::size_t i = 0; i < options_.factors.size(); ++i) {
      // What costs nothing stays free, unless it is forbidden.
      costs_[i] =
          std::isinf(options_.factors[i]) ? options_.factors[i] : costs_[i] * options_.factors[i];
    }
    find();
    for (std::size_t i = 0; i < given.size(); ++i) EGRET_RETURN_IF_ERROR(add(given[i], i));
    PieceChoice of_start;
    if (start) of_start = add_pieces(view_, start->pieces, pieces_);
    forms_ = options_.error_budget == nullptr
                 ? plain_forms(pieces_)
                 : add_forms(tensors_, view_, *options_.backend, pieces_);
    kernels_ = extract::kernel_graph(view_, leaves_, pieces_);
    EGRET_RETURN_IF_ERROR(look_up());
    std::vector<KernelTimes> times_of_given(given.size());
    if (start) {
      times_of_given.front() = start->choice.times_of_given.front();
      begin_with(*std::move(start), of_start);
    }
    for (const Given& one : given_) {
      if (one.place == 0 && best_) continue;  // the start
      if (!may_measure() && !needs_answer()) break;
      EGRET_ASSIGN_OR_RETURN(times_of_given[one.place], try_given(one));
    }
    EGRET_ASSIGN_OR_RETURN(const bool recalled, recall());
    if (!recalled) {
      EGRET_RETURN_IF_ERROR(try_single_forms());
      EGRET_RETURN_IF_ERROR(search());
      EGRET_RETURN_IF_ERROR(keep());
    }
    best_->times_of_given = std::move(times_of_given);
    best_->pieces = static_cast<std::int64_t>(pieces_.all.size());
    best_->dropped = pieces_.dropped;
    best_->newly_measured = newly_measured_;
    best_->rounds = rounds_;
    return *best_;
  }

  // The answer, after run().
  Start answer() const {
    Start answer{*best_, {}};
    for (const std::uint32_t piece : best_->program.pieces)
      answer.pieces.push_back(pieces_.all[piece]);
    return answer;
  }

 private:
  static constexpr int kMostSettled = 4;     // programs in a row
  static constexpr double kExploring = 0.8;  // of all time
  struct Given {
    std::size_t place;  // among the given programs
    PieceChoice pieces;
  };

  // A program in f32 is an answer under any error budget.
  bool needs_answer() const { return options_.error_budget != nullptr && !best_; }

  // Time remains for programs of kernels that are known by then.
  bool may_explore() const {
    const double share = is_by_extraction() ? kExploring : 1;
    return shared_.watch.seconds() < share * options_.seconds && !base::stop_requested();
  }
  bool may_measure() const {
    return shared_.watch.seconds() < options_.seconds && !base::stop_requested();
  }

  // The dearest operator: a kernel takes at least about as long as any part of it.
  double estimate(const Piece& piece) const {
    double dearest = 0;
    for (const NodeIndex node : piece.nodes) dearest = std::max(dearest, costs_[node]);
    return dearest;
  }

  void find() {
    extract::PieceOptions finding;
    finding.price = [&](const Piece& piece) { return estimate(piece); };
    finding.is_kernel = [&](const Piece& piece) { return shared_.times.is_kernel(piece); };
    finding.should_stop = base::stop_requested;
    pieces_ = extract::find_pieces({view_, costs_}, leaves_, finding);
  }

  // The kernels that the backend makes of a program become pieces, and a choice to be tried.
  base::Status add(const GivenProgram& program, std::size_t place) {
    EGRET_ASSIGN_OR_RETURN(const backends::Division division,
                           options_.backend->divide(program.graph, options_.plan));
    auto pieces = pieces_of(tensors_, view_, leaves_, program.origins, division);
    if (pieces) given_.push_back({place, add_pieces(view_, *std::move(pieces), pieces_)});
    return base::ok();
  }

  std::vector<NodeIndex> choice_of(const PieceChoice& pieces) const {
    return nodes_of(kernels_, leaves_, pieces);
  }

  void begin_with(Start start, const PieceChoice& pieces) {
    const std::vector<double> costs = costs_of_kernels();
    best_ = std::move(start.choice);
    best_->solution = extract::solution_of({kernels_.graph, costs}, choice_of(pieces));
    for (std::size_t k = 0; k < start.pieces.size(); ++k) {
      const ClassIndex root = view_.node_class[start.pieces[k].root()];
      best_->program.pieces[k] = static_cast<std::uint32_t>(pieces_.begin[root] + pieces[root]);
    }
    tried_.insert(best_->solution.choice);
    newly_measured_ = best_->newly_measured;
  }

  base::Status look_up() {
    for (std::size_t i = 0; i < pieces_.all.size(); ++i) {
      EGRET_ASSIGN_OR_RETURN(const std::size_t work,
                             shared_.times.work_of(pieces_.all[i], forms_.form[i]));
      work_of_.push_back(work);
    }
    prices_.resize(pieces_.all.size());
    is_measured_.resize(pieces_.all.size());
    update_prices();
    return base::ok();
  }

  void update_prices() {
    for (std::size_t i = 0; i < prices_.size(); ++i) {
      is_measured_[i] = shared_.times.is_measured(work_of_[i]);
      prices_[i] = is_measured_[i] ? shared_.times.seconds(work_of_[i]) : estimate(pieces_.all[i]);
    }
    price_forms(forms_, is_measured_, prices_);
  }

  // An answer under an error budget rests on measured errors, which nothing keeps.
  cost::Database* answers() const {
    const bool keeps =
        options_.keep_answers && options_.seconds > 0 && options_.error_budget == nullptr;
    return keeps ? options_.kept.database : nullptr;
  }

  // What the search depends on, besides times. The entry says whether it was disturbed; the note
  // is the answer.
  std::string key_of_search() const {
    std::string all;
    const auto add_hash = [&](const auto& values) {
      all += base::content_hash(std::as_bytes(std::span(values))).to_hex();
    };
    add_hash(kernels_.graph.class_begin);
    add_hash(kernels_.graph.child_begin);
    add_hash(kernels_.graph.children);
    add_hash(kernels_.graph.roots);
    for (const std::size_t work : work_of_) all += shared_.times.key(work);
    for (const Piece& piece : pieces_.all) add_hash(piece.nodes);
    for (const Given& one : given_) add_hash(one.pieces);
    return "kernels by " + std::string(options_.extractor->name) + ", seed " +
           std::to_string(options_.extraction.seed) + ": " + base::content_hash(all).to_hex();
  }

  // Whether the database knows the answer. The bound is that of an extraction at the prices of now.
  base::Result<bool> recall() {
    if (answers() == nullptr) return false;
    const std::vector<double> costs = costs_of_kernels();
    const extract::Problem problem{kernels_.graph, costs};
    EGRET_ASSIGN_OR_RETURN(
        auto choice, kept_choice(*answers(), options_.kept.machine, key_of_search(), problem));
    if (!choice) return false;
    std::optional<std::size_t> given;
    for (const Given& one : given_) {
      if (choice_of(one.pieces) == *choice) given = one.place;
    }
    EGRET_RETURN_IF_ERROR(
        try_choice(extract::solution_of(problem, *std::move(choice)), given).status());
    EGRET_ASSIGN_OR_RETURN(const extract::Solution solution, extract(problem));
    EGRET_RETURN_IF_ERROR(extract::check_solution(problem, solution));
    bound_by(problem, solution);
    return true;
  }

  base::Status keep() {
    if (answers() == nullptr || !best_->times.measured || base::stop_requested()) return base::ok();
    const cost::Entry entry{.runs = rounds_,
                            .median_s = best_->times.seconds,
                            .disturbed = options_.kept.disturbed && options_.kept.disturbed()};
    return keep_choice(*answers(), options_.kept.machine, key_of_search(), entry, kernels_.graph,
                       best_->solution.choice);
  }

  // The answer at the prices of this extraction, whose bound holds for all answers.
  void bound_by(const extract::Problem& problem, const extract::Solution& solution) {
    best_->solution = extract::solution_of(problem, std::move(best_->solution.choice));
    best_->solution.bound = std::min(solution.bound, best_->solution.dag_cost);
    if (best_->solution.dag_cost <= solution.bound)
      best_->solution.quality = extract::Quality::kOptimal;
  }

  base::Status search() {
    while (true) {
      const std::vector<double> costs = costs_of_kernels();
      const extract::Problem problem{kernels_.graph, costs};
      EGRET_ASSIGN_OR_RETURN(const extract::Solution solution, extract(problem));
      EGRET_RETURN_IF_ERROR(extract::check_solution(problem, solution));
      ++rounds_;
      progress_.report({{base::kIteration, rounds_},
                        {base::kBestCost, solution.dag_cost},
                        {kKernels, newly_measured_}});
      const bool is_new = tried_.insert(solution.choice).second;
      if (!best_ || (is_new && may_gain(solution))) {
        EGRET_ASSIGN_OR_RETURN(const bool learned, try_choice(solution, std::nullopt));
        if ((learned || tried_forms_.may_change()) && rounds_ < options_.max_rounds &&
            may_explore())
          continue;
      }
      EGRET_RETURN_IF_ERROR(settle());
      if (!best_) EGRET_RETURN_IF_ERROR(try_in_f32());
      bound_by(problem, solution);
      return base::ok();
    }
  }

  // Prices are optimistic: what is not cheaper than the best program's kernels is not faster. Those
  // of forms are guesses.
  bool may_gain(const extract::Solution& solution) const {
    if (options_.error_budget != nullptr) return true;
    double seconds = 0;
    for (const KernelTime& kernel : best_->times.kernels) seconds += kernel.seconds;
    return !best_->times.measured || solution.dag_cost < (1 - kRaceNoise) * seconds;
  }

  base::Result<KernelTimes> try_given(const Given& given) {
    const std::vector<double> costs = costs_of_kernels();
    const auto solution = extract::solution_of({kernels_.graph, costs}, choice_of(given.pieces));
    EGRET_RETURN_IF_ERROR(try_choice(solution, given.place).status());
    return last_times_;
  }

  // Compiles and runs the program of a choice. True: times of kernels were learned.
  base::Result<bool> try_choice(const extract::Solution& solution,
                                std::optional<std::size_t> given) {
    EGRET_ASSIGN_OR_RETURN(
        const DividedGraph divided,
        divided_graph(tensors_, view_, leaves_, pieces_, kernels_, solution.choice));
    EGRET_ASSIGN_OR_RETURN(ir::Graph folded,
                           rules::fold_constants(divided.graph, {.known = &shared_.folded}));
    KernelChoice choice;
    choice.program = carried_over(divided, std::move(folded));
    choice.solution = solution;
    choice.given = given;
    EGRET_RETURN_IF_ERROR(apply_forms(choice));
    std::int64_t learned = tried_forms_.learned ? 1 : 0;
    const DividedGraph& program = choice.program;
    EGRET_ASSIGN_OR_RETURN(const std::optional<KnownPartTimes> known, times_of(program));
    if (known) {
      std::vector<std::size_t> works;
      for (const std::uint32_t piece : program.pieces) works.push_back(work_of_[piece]);
      EGRET_ASSIGN_OR_RETURN(const std::int64_t measured, shared_.times.learn(works, *known));
      update_prices();
      learned += measured;
      newly_measured_ += measured;
      choice.times = kernel_times(program.graph, program.division, known->times);
    } else {
      std::vector<double> prices;
      for (const std::uint32_t piece : program.pieces) prices.push_back(prices_[piece]);
      choice.times = kernel_times(program.graph, program.division, prices);
    }
    last_times_ = choice.times;
    if (is_better(choice)) best_ = std::move(choice);
    return learned > 0;
  }

  // Nothing where the time is over, or a stop was requested, for what was not measured before.
  base::Result<std::optional<KnownPartTimes>> times_of(const DividedGraph& program) const {
    if (options_.seconds <= 0) return std::optional<KnownPartTimes>();
    backends::CompileOptions plan = options_.plan;
    plan.division = program.division;
    auto times =
        kept_part_times(*options_.backend, program.graph, plan, options_.kept, may_measure());
    if (!times.ok() && base::stop_requested()) return std::optional<KnownPartTimes>();
    return times;
  }

  // A measured program is better known than an estimated one. Of two measured ones, the given one
  // has the advantage of the noise.
  bool is_better(const KernelChoice& choice) const {
    const ErrorBudget* const budget = options_.error_budget;
    if (budget != nullptr && !budget->allows(choice.forms.measured)) return false;
    if (is_comparison()) return !best_ || choice.forms.lowers();
    if (is_trial_) return false;
    if (!best_ || choice.times.measured != best_->times.measured)
      return !best_ || choice.times.measured;
    const double margin = best_->given && !choice.given ? 1 - kRaceNoise : 1;
    return choice.times.seconds < margin * best_->times.seconds;
  }

  // Whether one form is asked for wherever there is a kernel, as a comparison.
  bool is_comparison() const {
    return options_.error_budget != nullptr &&
           options_.error_budget->forms_from() >= FormsFrom::kBF16;
  }

  std::vector<double> costs_of_kernels() const {
    std::vector<double> costs = kernels_.costs(prices_);
    if (options_.error_budget != nullptr)
      exclude_impossible(kernels_, forms_, *options_.error_budget, costs);
    return costs;
  }

  base::Result<extract::Solution> extract(const extract::Problem& problem) const {
    if (options_.error_budget != nullptr)
      return extract_in_forms(problem, kernels_, forms_, plain_choice_, *options_.error_budget,
                              *options_.extractor, options_.extraction);
    return extract_or_recall(*options_.extractor, problem, options_.extraction, answers());
  }

  bool is_by_extraction() const {
    return options_.error_budget != nullptr &&
           options_.error_budget->forms_from() == FormsFrom::kExtraction;
  }

  // Programs of kernels whose times and errors are all known, until one is within the budget.
  base::Status settle() {
    if (!is_by_extraction()) return base::ok();
    for (int i = 0; i < kMostSettled && may_measure(); ++i) {
      std::vector<double> costs = costs_of_kernels();
      exclude_unknown(kernels_, forms_, *options_.error_budget, is_measured_, costs);
      const auto solution = extract({kernels_.graph, costs});
      if (!solution.ok()) return base::ok();  // of no program all kernels are known
      if (!tried_.insert(solution->choice).second) return base::ok();
      EGRET_RETURN_IF_ERROR(try_choice(*solution, std::nullopt).status());
      if (!tried_forms_.may_change()) return base::ok();
    }
    return base::ok();
  }

  // The best program in f32 once in each form, after which most prices of forms are known; then
  // with one layer lowered after the other, which the extraction is never to be worse than.
  base::Status try_single_forms() {
    if (options_.error_budget == nullptr || !best_) return base::ok();
    plain_choice_ = best_->solution.choice;
    if (is_comparison()) return base::ok();
    for (const auto form : {backends::OperandForm::kBF16, backends::OperandForm::kI8}) {
      if (!may_measure()) return base::ok();
      const std::vector<double> costs = costs_of_kernels();
      const auto solution = extract::solution_of(
          {kernels_.graph, costs},
          in_form_everywhere(kernels_, forms_, plain_choice_, form, *options_.error_budget));
      if (solution.choice == plain_choice_) continue;
      // What is compared with the extraction chooses by itself.
      is_trial_ = !is_by_extraction();
      const auto tried = try_choice(solution, std::nullopt);
      is_trial_ = false;
      EGRET_RETURN_IF_ERROR(tried.status());
    }
    if (!is_by_extraction() || !may_measure()) return base::ok();
    const std::vector<double> costs = costs_of_kernels();
    const auto by_layers = extract::solution_of(
        {kernels_.graph, costs},
        in_forms_by_layers(kernels_, forms_, plain_choice_, costs, *options_.error_budget));
    if (tried_.insert(by_layers.choice).second)
      EGRET_RETURN_IF_ERROR(try_choice(by_layers, std::nullopt).status());
    return settle();
  }

  // The cheapest program in f32.
  base::Status try_in_f32() {
    std::vector<double> costs = kernels_.costs(prices_);
    exclude_lowered(kernels_, forms_, costs);
    EGRET_ASSIGN_OR_RETURN(
        const extract::Solution solution,
        options_.extractor->extract({kernels_.graph, costs}, options_.extraction));
    return try_choice(solution, std::nullopt).status();
  }

  base::Status apply_forms(KernelChoice& choice) {
    tried_forms_ = {};
    if (options_.error_budget == nullptr) return base::ok();
    EGRET_ASSIGN_OR_RETURN(tried_forms_, try_forms(choice.program, forms_, *options_.error_budget,
                                                   *options_.backend, options_.plan, choice.forms));
    return base::ok();
  }

  Shared& shared_;
  const rules::TensorEGraph& tensors_;
  const egraph::EGraphView& view_;
  const KernelChoiceOptions& options_;
  const base::Progress progress_;
  const std::vector<bool>& leaves_;
  std::vector<double> costs_;  // of the view's nodes
  extract::Pieces pieces_;
  std::vector<Given> given_;
  extract::KernelGraph kernels_;
  std::vector<std::size_t> work_of_;  // by piece, in shared_.times
  PieceForms forms_;
  std::set<std::vector<NodeIndex>> tried_;
  std::vector<NodeIndex> plain_choice_;  // of the best program in f32
  bool is_trial_ = false;                // a program that is run for its prices alone
  TriedForms tried_forms_;               // of the last program
  std::vector<double> prices_;           // by piece
  std::vector<bool> is_measured_;        // by piece, of prices
  KernelTimes last_times_;
  std::optional<KernelChoice> best_;
  std::int64_t newly_measured_ = 0;
  int rounds_ = 0;
};

}  // namespace

base::Result<KernelChoice> choose_kernels(const rules::TensorEGraph& tensors,
                                          const egraph::EGraphView& view, cost::Model& model,
                                          std::span<const GivenProgram> given,
                                          const KernelChoiceOptions& options,
                                          base::ProgressSink* sink) {
  // Asked once, so that a backend without divisions is found before any work.
  EGRET_RETURN_IF_ERROR(options.backend->divide(ir::Graph(), options.plan).status());
  EGRET_ASSIGN_OR_RETURN(std::vector<double> costs, price_nodes(tensors, view, model));
  Shared shared{.tensors = tensors,
                .view = view,
                .leaves = leaves_of(tensors, view),
                .costs = std::move(costs),
                .times = PieceTimes(tensors, view, *options.backend, options.plan, options.kept)};
  std::optional<Start> start;
  if (!options.graph.empty() && !given.empty() && options.error_budget == nullptr) {
    KernelChoiceOptions of_graph = options;
    of_graph.factors.assign(view.node_count(), std::numeric_limits<double>::infinity());
    for (const NodeIndex node : options.graph) {
      if (node != extract::kNoNode) of_graph.factors[node] = 1;
    }
    of_graph.seconds *= kShareOfGraph;
    Search search(shared, of_graph, sink);
    EGRET_ASSIGN_OR_RETURN(KernelChoice chosen, search.run(given.first(1), std::nullopt));
    if (options.only_graph) return chosen;
    start = search.answer();
  }
  return Search(shared, options, sink).run(given, std::move(start));
}

}  // namespace egret::driver
