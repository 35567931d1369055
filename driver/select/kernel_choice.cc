// SPDX-License-Identifier: Apache-2.0
#include "driver/select/kernel_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "backends/timing/measure.h"
#include "base/hash.h"
#include "base/stop.h"
#include "base/timer.h"
#include "driver/measure/race.h"
#include "driver/select/extraction_cache.h"
#include "driver/select/kernel_forms.h"
#include "driver/select/selection.h"
#include "extract/core/choice_walk.h"
#include "rules/tensors/constant_folding.h"

namespace egret::driver {
namespace {

using extract::ClassIndex;
using extract::NodeIndex;
using extract::Piece;

inline constexpr base::ProgressColumn kKernels{
    "kernels", "kernels", base::ProgressColumn::Unit::kCount, "kernels measured in this run"};

// What is known of kernels that do the same work.
struct Known {
  std::string key;               // in the database
  std::vector<double> measured;  // one time for each program that ran it
  double seconds() const {
    std::vector<double> sorted = measured;
    return backends::summarize(std::move(sorted)).median_s;
  }
};

// The times of the kernels of a divided graph, one for each kernel of the division.
KernelTimes kernel_times(const ir::Graph& graph, const backends::Division& division,
                         std::span<const double> seconds) {
  KernelTimes times;
  for (std::size_t k = 0; k < division.size(); ++k) {
    times.seconds += seconds[k];
    if (division[k].empty()) continue;  // computed from weights
    KernelTime& kernel = times.kernels.emplace_back();
    kernel.name = graph.node(division[k].front()).op->name();
    for (const ir::NodeId id : division[k]) kernel.nodes.push_back(backends::node_label(graph, id));
    kernel.seconds = seconds[k];
  }
  return times;
}

class Search {
 public:
  Search(const rules::TensorEGraph& tensors, const egraph::EGraphView& view, cost::Model& model,
         const KernelChoiceOptions& options, base::ProgressSink* sink)
      : tensors_(tensors),
        view_(view),
        model_(model),
        options_(options),
        progress_(sink, "kernels"),
        leaves_(leaves_of(tensors, view)),
        shapes_(tensors, view) {}

  base::Result<KernelChoice> run(std::span<const GivenProgram> given) {
    EGRET_ASSIGN_OR_RETURN(costs_, price_nodes(tensors_, view_, model_));
    for (std::size_t i = 0; i < options_.factors.size(); ++i) {
      // What costs nothing stays free, unless it is forbidden.
      costs_[i] =
          std::isinf(options_.factors[i]) ? options_.factors[i] : costs_[i] * options_.factors[i];
    }
    // Asked once, so that a backend without divisions is found before any work.
    EGRET_RETURN_IF_ERROR(options_.backend->divide(ir::Graph(), options_.plan).status());
    find();
    for (std::size_t i = 0; i < given.size(); ++i) EGRET_RETURN_IF_ERROR(add(given[i], i));
    forms_ = options_.error_budget == nullptr
                 ? plain_forms(pieces_)
                 : add_forms(tensors_, view_, *options_.backend, pieces_);
    kernels_ = extract::kernel_graph(view_, leaves_, pieces_);
    EGRET_RETURN_IF_ERROR(look_up());
    std::vector<KernelTimes> times_of_given(given.size());
    for (const Given& one : given_) {
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
    return *std::move(best_);
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  static constexpr int kMostSettled = 4;     // programs in a row
  static constexpr double kExploring = 0.8;  // of all time
  struct Given {
    std::size_t place;                // among the given programs
    std::vector<std::size_t> pieces;  // by class, counted in the class; kNone: none
  };

  // A program in f32 is an answer under any error budget.
  bool needs_answer() const { return options_.error_budget != nullptr && !best_; }

  // Time remains for programs of kernels that are known by then.
  bool may_explore() const {
    const double share = is_by_extraction() ? kExploring : 1;
    return watch_.seconds() < share * options_.seconds && !base::stop_requested();
  }
  bool may_measure() const {
    return watch_.seconds() < options_.seconds && !base::stop_requested();
  }

  // The dearest operator: a kernel takes at least about as long as any part of it.
  double estimate(const Piece& piece) const {
    double dearest = 0;
    for (const NodeIndex node : piece.nodes) dearest = std::max(dearest, costs_[node]);
    return dearest;
  }

  void find() {
    std::map<std::vector<std::uint32_t>, bool> known;
    extract::PieceOptions finding;
    finding.price = [&](const Piece& piece) { return estimate(piece); };
    finding.is_kernel = [&](const Piece& piece) {
      const auto [entry, is_new] = known.emplace(shapes_.shape(piece), false);
      if (is_new) {
        const auto graph = graph_of(tensors_, view_, piece);
        if (!graph.ok()) return false;
        const auto division = options_.backend->divide(*graph, options_.plan);
        entry->second = division.ok() && division->size() == 1;
      }
      return entry->second;
    };
    finding.should_stop = base::stop_requested;
    pieces_ = extract::find_pieces({view_, costs_}, leaves_, finding);
  }

  std::optional<NodeIndex> view_node(egraph::NodeId node) const {
    const egraph::ClassId of = tensors_.egraph().class_of(node);
    const auto found = std::ranges::lower_bound(view_.class_id, of);
    if (found == view_.class_id.end() || *found != of) return std::nullopt;
    const auto c = static_cast<std::size_t>(found - view_.class_id.begin());
    const auto nodes = tensors_.egraph().nodes(of);
    const auto place = std::ranges::find(nodes, node);
    if (place == nodes.end()) return std::nullopt;
    return view_.class_begin[c] + static_cast<NodeIndex>(place - nodes.begin());
  }

  // The kernels that the backend makes of a program become pieces, and a choice to be tried.
  base::Status add(const GivenProgram& program, std::size_t place) {
    EGRET_ASSIGN_OR_RETURN(const backends::Division division,
                           options_.backend->divide(program.graph, options_.plan));
    std::vector<Piece> added;
    for (const std::vector<ir::NodeId>& kernel : division) {
      std::vector<NodeIndex> nodes;
      for (auto id = kernel.rbegin(); id != kernel.rend(); ++id) {
        const egraph::NodeId origin = program.origins[id->index()];
        const auto node = origin.valid() ? view_node(origin) : std::nullopt;
        if (!node) return base::ok();  // the program is not one of this view
        if (!leaves_[view_.node_class[*node]]) nodes.push_back(*node);
      }
      if (nodes.empty()) continue;
      Piece piece = extract::piece_of(view_, leaves_, nodes);
      // Several operators of one class, of which one is an operand of the other: no piece.
      if (piece.nodes.size() != nodes.size()) return base::ok();
      added.push_back(std::move(piece));
    }
    // Pieces are kept in the order of classes.
    std::vector<std::size_t> choice(view_.class_count(), kNone);
    for (Piece& piece : added) {
      const ClassIndex root = view_.node_class[piece.root()];
      const auto begin = pieces_.all.begin() + static_cast<std::ptrdiff_t>(pieces_.begin[root]);
      const auto end = pieces_.all.begin() + static_cast<std::ptrdiff_t>(pieces_.begin[root + 1]);
      auto same = std::find_if(begin, end, [&](const Piece& one) {
        return std::ranges::is_permutation(one.nodes, piece.nodes);
      });
      const auto offset = static_cast<std::size_t>(same - begin);
      if (same == end) {
        pieces_.all.insert(end, std::move(piece));
        for (std::size_t c = root + 1; c < pieces_.begin.size(); ++c) ++pieces_.begin[c];
      }
      choice[root] = offset;  // relative, because pieces of other classes may still be inserted
    }
    given_.push_back({place, std::move(choice)});
    return base::ok();
  }

  // A choice of pieces, relative to the first of its class, as nodes of the e-graph of kernels.
  std::vector<NodeIndex> choice_of(const std::vector<std::size_t>& division) const {
    std::vector<NodeIndex> choice(view_.class_count(), extract::kNoNode);
    for (ClassIndex c = 0; c < view_.class_count(); ++c) {
      const NodeIndex first = kernels_.graph.class_begin[c];
      if (leaves_[c]) choice[c] = first;
      if (division[c] != kNone) choice[c] = first + static_cast<NodeIndex>(division[c]);
    }
    return choice;
  }

  // Pieces of one shape and form do the same work, and so do those of one text.
  base::Status look_up() {
    std::map<std::pair<std::vector<std::uint32_t>, backends::OperandForm>, std::size_t> by_shape;
    std::map<std::string, std::size_t> by_text;
    for (std::size_t i = 0; i < pieces_.all.size(); ++i) {
      const Piece& piece = pieces_.all[i];
      const backends::OperandForm form = forms_.form[i];
      const auto [entry, is_new] = by_shape.try_emplace({shapes_.shape(piece), form});
      if (is_new) {
        const auto graph = graph_of(tensors_, view_, piece);
        std::string text = graph.ok() ? text_of(*graph) : "?";
        if (form != backends::OperandForm::kF32)
          text += " in " + std::string(backends::to_string(form));
        entry->second = by_text.emplace(text, known_.size()).first->second;
        if (entry->second == known_.size()) EGRET_RETURN_IF_ERROR(add_known("piece " + text));
      }
      known_of_.push_back(entry->second);
    }
    prices_.resize(pieces_.all.size());
    is_measured_.resize(pieces_.all.size());
    update_prices();
    return base::ok();
  }

  base::Status add_known(std::string key) {
    Known& known = known_.emplace_back(Known{.key = std::move(key), .measured = {}});
    if (options_.kept.database == nullptr) return base::ok();
    EGRET_ASSIGN_OR_RETURN(const auto stored,
                           options_.kept.database->find(options_.kept.machine, known.key));
    if (stored) known.measured.push_back(stored->median_s);
    return base::ok();
  }

  void update_prices() {
    for (std::size_t i = 0; i < prices_.size(); ++i) {
      const Known& known = known_[known_of_[i]];
      is_measured_[i] = !known.measured.empty();
      prices_[i] = is_measured_[i] ? known.seconds() : estimate(pieces_.all[i]);
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
    for (const std::size_t known : known_of_) all += known_[known].key;
    for (const Piece& piece : pieces_.all) add_hash(piece.nodes);
    for (const Given& one : given_) add_hash(one.pieces);
    return "kernels by " + std::string(options_.extractor->name) + ", seed " +
           std::to_string(options_.extraction.seed) + ": " + base::content_hash(all).to_hex();
  }

  // Whether the database knows the answer. The bound is that of an extraction at the prices of now.
  base::Result<bool> recall() {
    if (answers() == nullptr) return false;
    const std::string key = key_of_search();
    EGRET_ASSIGN_OR_RETURN(const auto entry, answers()->find(options_.kept.machine, key));
    EGRET_ASSIGN_OR_RETURN(const auto note,
                           answers()->find_note(key + " on " + options_.kept.machine));
    if (!entry || !note) return false;
    auto choice = choice_from_text(kernels_.graph, *note);
    const std::vector<double> costs = kernels_.costs(prices_);
    const extract::Problem problem{kernels_.graph, costs};
    if (!choice ||
        extract::walk_choice(problem, *choice).outcome != extract::ChoiceWalk::Outcome::kComplete)
      return false;
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
    const std::string key = key_of_search();
    const cost::Entry entry{.runs = rounds_,
                            .median_s = best_->times.seconds,
                            .disturbed = options_.kept.disturbed && options_.kept.disturbed()};
    EGRET_RETURN_IF_ERROR(answers()->store(options_.kept.machine, key, entry));
    return answers()->store_note(key + " on " + options_.kept.machine,
                                 text_of_choice(kernels_.graph, best_->solution.choice));
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
        if ((learned || beyond_ || corrected_) && rounds_ < options_.max_rounds && may_explore())
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
                           rules::fold_constants(divided.graph, {.known = &folded_}));
    KernelChoice choice;
    choice.program = carried_over(divided, std::move(folded));
    choice.solution = solution;
    choice.given = given;
    std::int64_t learned = 0;
    EGRET_ASSIGN_OR_RETURN(learned, apply_forms(choice));
    const DividedGraph& program = choice.program;
    EGRET_ASSIGN_OR_RETURN(const std::optional<KnownPartTimes> known, times_of(program));
    if (known) {
      EGRET_ASSIGN_OR_RETURN(const std::int64_t measured, learn(program, *known));
      learned += measured;
      newly_measured_ += measured;
      choice.times = kernel_times(program.graph, program.division, known->times.parts);
      choice.times.seconds += known->times.rest;
      choice.times.measured = true;
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

  // Keeps the times of kernels; how many of them were not known before.
  base::Result<std::int64_t> learn(const DividedGraph& program, const KnownPartTimes& of_program) {
    const PartTimes& times = of_program.times;
    const bool disturbed = options_.kept.disturbed && options_.kept.disturbed();
    std::int64_t learned = 0;
    for (std::size_t k = 0; k < program.pieces.size(); ++k) {
      Known& known = known_[known_of_[program.pieces[k]]];
      // The database keeps the median of programs, of which a remembered one is one.
      if (of_program.remembered && !known.measured.empty()) continue;
      learned += known.measured.empty() ? 1 : 0;
      known.measured.push_back(times.parts[k]);
      if (options_.kept.database == nullptr) continue;
      const cost::Entry entry{
          .runs = times.runs, .median_s = known.seconds(), .disturbed = disturbed};
      EGRET_RETURN_IF_ERROR(options_.kept.database->store(options_.kept.machine, known.key, entry));
    }
    update_prices();
    return learned;
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
      if (!beyond_ && !corrected_) return base::ok();
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

  // Rounds the operands of a program as its pieces say, and measures its error. Returns how many
  // errors of kernels were learned (0 or 1).
  base::Result<std::int64_t> apply_forms(KernelChoice& choice) {
    ErrorBudget* const budget = options_.error_budget;
    beyond_ = corrected_ = false;
    if (budget == nullptr) return 0;
    const std::vector<ErrorBudget::Contraction> contractions =
        contractions_of(choice.program, forms_);
    EGRET_ASSIGN_OR_RETURN(const bool learned, budget->learn(choice.program.graph, contractions));
    choice.program = in_forms(choice.program, forms_, *budget, choice.forms);
    if (choice.forms.lowers()) {
      backends::CompileOptions plan = options_.plan;
      plan.division = choice.program.division;
      EGRET_ASSIGN_OR_RETURN(const auto compiled,
                             options_.backend->compile(choice.program.graph, plan));
      EGRET_ASSIGN_OR_RETURN(choice.forms.measured, budget->measure(*compiled));
      corrected_ = budget->correct(choice.forms.estimated, choice.forms.measured.largest());
      beyond_ = !budget->allows(choice.forms.measured);
    }
    return learned ? 1 : 0;
  }

  const rules::TensorEGraph& tensors_;
  const egraph::EGraphView& view_;
  cost::Model& model_;
  const KernelChoiceOptions& options_;
  const base::Progress progress_;
  const base::Stopwatch watch_;
  const std::vector<bool> leaves_;
  const PieceShapes shapes_;
  std::vector<double> costs_;  // of the view's nodes
  extract::Pieces pieces_;
  std::vector<Given> given_;
  extract::KernelGraph kernels_;
  std::vector<Known> known_;
  std::vector<std::size_t> known_of_;  // by piece: its place in known_
  PieceForms forms_;
  std::set<std::vector<NodeIndex>> tried_;
  std::vector<NodeIndex> plain_choice_;  // of the best program in f32
  bool is_trial_ = false;                // a program that is run for its prices alone
  bool beyond_ = false;                  // the last program was beyond the error budget
  bool corrected_ = false;               // estimates of errors were
  std::vector<double> prices_;           // by piece
  std::vector<bool> is_measured_;        // by piece, of prices
  rules::FoldedValues folded_;
  KernelTimes last_times_;
  std::optional<KernelChoice> best_;
  std::int64_t newly_measured_ = 0;
  int rounds_ = 0;
};

}  // namespace

Prediction prediction_of(KernelTimes times) {
  return {.seconds = times.seconds,
          .estimated = times.measured ? 0 : std::ssize(times.kernels),
          .operators = std::move(times.kernels)};
}

base::Result<Prediction> predict_as_divided(const ir::Graph& graph,
                                            const backends::Backend& backend,
                                            const backends::CompileOptions& plan,
                                            const KeptTimes& kept) {
  backends::CompileOptions divided = plan;
  EGRET_ASSIGN_OR_RETURN(divided.division, backend.divide(graph, plan));
  EGRET_ASSIGN_OR_RETURN(const auto known, kept_part_times(backend, graph, divided, kept));
  if (!known) return base::internal_error("a program was not measured");
  KernelTimes result = kernel_times(graph, divided.division, known->times.parts);
  result.seconds += known->times.rest;
  result.measured = true;
  return prediction_of(std::move(result));
}

base::Result<KernelChoice> choose_kernels(const rules::TensorEGraph& tensors,
                                          const egraph::EGraphView& view, cost::Model& model,
                                          std::span<const GivenProgram> given,
                                          const KernelChoiceOptions& options,
                                          base::ProgressSink* sink) {
  return Search(tensors, view, model, options, sink).run(given);
}

}  // namespace egret::driver
