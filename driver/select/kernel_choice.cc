// SPDX-License-Identifier: Apache-2.0
#include "driver/select/kernel_choice.h"

#include <algorithm>
#include <cmath>
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
    kernels_ = extract::kernel_graph(view_, leaves_, pieces_);
    EGRET_RETURN_IF_ERROR(look_up());
    std::vector<KernelTimes> times_of_given(given.size());
    for (const Given& one : given_) {
      if (!may_measure()) break;
      EGRET_ASSIGN_OR_RETURN(times_of_given[one.place], try_given(one));
    }
    EGRET_ASSIGN_OR_RETURN(const bool recalled, recall());
    if (!recalled) {
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
  struct Given {
    std::size_t place;                // among the given programs
    std::vector<std::size_t> pieces;  // by class, counted in the class; kNone: none
  };

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

  // What is known of each piece. Pieces of one shape do the same work, and so do those of one text.
  base::Status look_up() {
    std::map<std::vector<std::uint32_t>, std::size_t> by_shape;
    std::map<std::string, std::size_t> by_text;
    for (const Piece& piece : pieces_.all) {
      const auto [entry, is_new] = by_shape.emplace(shapes_.shape(piece), known_.size());
      if (is_new) {
        const auto graph = graph_of(tensors_, view_, piece);
        const std::string text = graph.ok() ? text_of(*graph) : "?";
        entry->second = by_text.emplace(text, known_.size()).first->second;
        if (entry->second == known_.size()) EGRET_RETURN_IF_ERROR(add_known("piece " + text));
      }
      known_of_.push_back(entry->second);
    }
    prices_.resize(pieces_.all.size());
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
      prices_[i] = known.measured.empty() ? estimate(pieces_.all[i]) : known.seconds();
    }
  }

  cost::Database* answers() const {
    return options_.keep_answers && options_.seconds > 0 ? options_.kept.database : nullptr;
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
    add_hash(known_of_);
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
    EGRET_ASSIGN_OR_RETURN(const extract::Solution solution, extracted(problem));
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

  base::Result<extract::Solution> extracted(const extract::Problem& problem) {
    EGRET_ASSIGN_OR_RETURN(
        extract::Solution solution,
        extract_or_recall(*options_.extractor, problem, options_.extraction, answers()));
    EGRET_RETURN_IF_ERROR(extract::check_solution(problem, solution));
    return solution;
  }

  // The answer at the prices of this extraction, whose bound holds for all answers.
  void bound_by(const extract::Problem& problem, const extract::Solution& solution) {
    best_->solution = extract::solution_of(problem, std::move(best_->solution.choice));
    best_->solution.bound = std::min(solution.bound, best_->solution.dag_cost);
    if (best_->solution.dag_cost <= solution.bound)
      best_->solution.quality = extract::Quality::kOptimal;
  }

  base::Status search() {
    std::set<std::vector<NodeIndex>> tried;
    while (true) {
      const std::vector<double> costs = kernels_.costs(prices_);
      const extract::Problem problem{kernels_.graph, costs};
      EGRET_ASSIGN_OR_RETURN(const extract::Solution solution, extracted(problem));
      ++rounds_;
      progress_.report({{base::kIteration, rounds_},
                        {base::kBestCost, solution.dag_cost},
                        {kKernels, newly_measured_}});
      const bool is_new = tried.insert(solution.choice).second;
      if (!best_ || (is_new && may_gain(solution))) {
        EGRET_ASSIGN_OR_RETURN(const bool learned, try_choice(solution, std::nullopt));
        if (learned && rounds_ < options_.max_rounds && may_measure()) continue;
      }
      bound_by(problem, solution);
      return base::ok();
    }
  }

  // Prices are optimistic: what is not cheaper than the best program's kernels is not faster.
  bool may_gain(const extract::Solution& solution) const {
    double seconds = 0;
    for (const KernelTime& kernel : best_->times.kernels) seconds += kernel.seconds;
    return !best_->times.measured || solution.dag_cost < (1 - kRaceNoise) * seconds;
  }

  base::Result<KernelTimes> try_given(const Given& given) {
    const std::vector<double> costs = kernels_.costs(prices_);
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
    const DividedGraph& program = choice.program;
    EGRET_ASSIGN_OR_RETURN(const std::optional<KnownPartTimes> known, times_of(program));
    std::int64_t learned = 0;
    if (known) {
      EGRET_ASSIGN_OR_RETURN(learned, learn(program, *known));
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
    newly_measured_ += learned;
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
    if (!best_ || choice.times.measured != best_->times.measured)
      return !best_ || choice.times.measured;
    const double margin = best_->given && !choice.given ? 1 - kRaceNoise : 1;
    return choice.times.seconds < margin * best_->times.seconds;
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
  std::vector<double> prices_;         // by piece
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
