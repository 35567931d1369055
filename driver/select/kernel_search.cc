// SPDX-License-Identifier: Apache-2.0
#include "driver/select/kernel_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "backends/joint_kernels.h"
#include "base/hash.h"
#include "base/stop.h"
#include "driver/measure/race.h"
#include "driver/select/extraction_cache.h"
#include "extract/kernels/joint_pieces.h"

namespace egret::driver {
namespace {

using extract::ClassIndex;
using extract::NodeIndex;
using extract::Piece;

inline constexpr base::ProgressColumn kKernels{
    "kernels", "kernels", base::ProgressColumn::Unit::kCount, "kernels measured in this run"};

}  // namespace

KernelSearch::KernelSearch(SearchedEGraph& egraph, const KernelChoiceOptions& options,
                           double until_s, std::vector<double> factors, base::ProgressSink* sink)
    : egraph_(egraph),
      options_(options),
      until_s_(until_s),
      progress_(sink, "kernels"),
      costs_(egraph.costs),
      least_(egraph.costs.size(), HUGE_VAL) {
  for (std::size_t i = 0; i < factors.size(); ++i) {
    // What costs nothing stays free, unless it is forbidden.
    costs_[i] = std::isinf(factors[i]) ? factors[i] : costs_[i] * factors[i];
  }
}

base::Result<KernelChoice> KernelSearch::run(std::span<const GivenProgram> given,
                                             std::vector<KernelStart> starts,
                                             std::span<const std::size_t> started) {
  find_pieces();
  const auto left_out = started.subspan(std::min(starts.size(), started.size()));
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (std::ranges::find(left_out, i) == left_out.end())
      EGRET_RETURN_IF_ERROR(add_given(given[i], i));
  }
  std::vector<std::vector<std::uint32_t>> of_starts;
  for (const KernelStart& start : starts)
    of_starts.push_back(add_pieces(egraph_.view, start.pieces, pieces_));
  forms_ = add_forms();
  kernels_ = extract::kernel_graph(egraph_.view, egraph_.leaves, pieces_, formed_classes());
  EGRET_RETURN_IF_ERROR(look_up());
  std::vector<KernelTimes> times_of_given(given.size());
  for (std::size_t i = 0; i < starts.size(); ++i) {
    std::optional<std::size_t> place = starts[i].choice.given;
    if (!started.empty()) {
      place = started[i];
      times_of_given[started[i]] = starts[i].choice.times_of_given.front();
    }
    begin_with(std::move(starts[i]), std::move(of_starts[i]), place);
  }
  std::erase_if(given_, [&](const Given& one) { return std::ranges::count(started, one.place); });
  base::Status searched = try_given(times_of_given);
  if (searched.ok() && divides()) searched = search();
  if (searched.ok() && !best_)
    searched = base::unsupported("the backend's division of the graph is not one of the e-graph");
  // What was interrupted has an answer if it has a program.
  if (!searched.ok() && !(base::stop_requested() && best_)) return searched;
  best_->times_of_given = std::move(times_of_given);
  best_->pieces = static_cast<std::int64_t>(pieces_.all.size());
  best_->dropped = pieces_.dropped;
  best_->newly_measured = newly_measured_;
  best_->rounds = rounds_;
  return *best_;
}

KernelStart KernelSearch::answer() const {
  KernelStart answer{*best_};
  const std::vector<std::uint32_t>& numbers = best_->program.pieces;
  for (const std::uint32_t piece : numbers) answer.pieces.push_back(pieces_.all[piece]);
  for (const auto& [value, piece] : kernels_.makers_in(best_->solution.choice)) {
    if (value >= egraph_.view.class_count()) continue;
    const auto kernel = std::ranges::find(numbers, piece) - numbers.begin();
    answer.makers.push_back({value, static_cast<std::uint32_t>(kernel)});
  }
  return answer;
}

// Time remains for programs of kernels that are known by then.
bool KernelSearch::may_explore() const {
  return egraph_.watch.seconds() < exploring_share() * until_s_ && !base::stop_requested();
}

bool KernelSearch::may_measure() const {
  return egraph_.watch.seconds() < until_s_ && !base::stop_requested();
}

// The dearest operator: a kernel takes at least about as long as any part of it. An operator takes
// longer alone than in a program whose values lie in a cache, so no operator counts more than a
// measured kernel that has it. Otherwise kernels that were never tried would look slower than they
// are, and would not be tried.
double KernelSearch::estimate(const Piece& piece) const {
  double dearest = 0;
  for (const NodeIndex node : piece.nodes) {
    const bool is_forbidden = std::isinf(costs_[node]);
    dearest = std::max(dearest, is_forbidden ? costs_[node] : std::min(costs_[node], least_[node]));
  }
  return dearest;
}

void KernelSearch::find_pieces() {
  if (options_.keep_division) {
    pieces_.of_class.resize(egraph_.view.class_count());
    return;
  }
  extract::PieceOptions finding;
  finding.price = [&](const Piece& piece) { return estimate(piece); };
  finding.is_kernel = [&](const Piece& piece) { return egraph_.times.is_kernel(piece); };
  finding.should_stop = base::stop_requested;
  pieces_ = extract::find_pieces({egraph_.view, costs_}, egraph_.leaves, finding);
  if (!joins_kernels() || backends::joint_kernels_of(*options_.backend) == nullptr) return;
  extract::JointOptions joining;
  joining.is_shared = [&](ClassIndex c) {
    return !egraph_.tensors.is_constant(egraph_.view.class_id[c]);
  };
  extract::add_joint_pieces(egraph_.view, egraph_.leaves, finding, joining, pieces_);
}

// The kernels that the backend makes of a program become pieces, and a choice to be tried.
base::Status KernelSearch::add_given(const GivenProgram& program, std::size_t place) {
  EGRET_ASSIGN_OR_RETURN(const backends::Division division,
                         options_.backend->divide(program.graph, options_.plan));
  auto pieces = pieces_of(egraph_.tensors, egraph_.view, egraph_.leaves, program.origins, division);
  if (!pieces) return base::ok();
  Given& given = given_.emplace_back(Given{place, {}});
  for (const std::uint32_t number : add_pieces(egraph_.view, *std::move(pieces), pieces_))
    given.makers.push_back({egraph_.view.node_class[pieces_.all[number].root()], number});
  return base::ok();
}

// Starts are compared by their times alone: the answer is never slower than one of them.
void KernelSearch::begin_with(KernelStart start, std::vector<std::uint32_t> numbers,
                              std::optional<std::size_t> place) {
  const std::vector<double> costs = costs_of_kernels();
  for (extract::KernelGraph::Maker& maker : start.makers) maker.piece = numbers[maker.piece];
  start.choice.solution =
      extract::solution_of({kernels_.graph, costs}, kernels_.choice_of(pieces_, start.makers));
  start.choice.program.pieces = std::move(numbers);
  if (start.choice.given) start.choice.given = place;
  tried_.insert(start.choice.solution.choice);
  newly_measured_ += start.choice.newly_measured;
  const bool is_first = !best_;
  const bool is_measured = !is_first && start.choice.times.measured && !best_->times.measured;
  const bool is_faster = !is_first && start.choice.times.measured == best_->times.measured &&
                         start.choice.times.seconds < best_->times.seconds;
  if (is_first || is_measured || is_faster) best_ = std::move(start.choice);
}

base::Status KernelSearch::look_up() {
  for (std::size_t i = 0; i < pieces_.all.size(); ++i) {
    EGRET_ASSIGN_OR_RETURN(
        const std::size_t work,
        egraph_.times.work_of(pieces_.all[i], forms_.form[i], is_laid_out(pieces_.all[i])));
    work_of_.push_back(work);
  }
  prices_.resize(pieces_.all.size());
  is_measured_.resize(pieces_.all.size());
  EGRET_RETURN_IF_ERROR(look_up_others());
  update_prices();
  return base::ok();
}

void KernelSearch::update_prices() {
  for (std::size_t i = 0; i < prices_.size(); ++i) {
    is_measured_[i] = egraph_.times.is_measured(work_of_[i]);
    if (!is_measured_[i]) continue;
    prices_[i] = egraph_.times.seconds(work_of_[i]);
    if (std::isinf(prices_[i]) || forms_.form[i] != backends::OperandForm::kF32) continue;
    for (const NodeIndex node : pieces_.all[i].nodes)
      least_[node] = std::min(least_[node], prices_[i]);
  }
  for (std::size_t i = 0; i < prices_.size(); ++i) {
    if (is_measured_[i]) continue;
    prices_[i] = estimate(pieces_.all[i]);
    // A kernel that does the work of two takes at least as long as each.
    for (const std::uint32_t part : pieces_.parts[i])
      prices_[i] = std::max(prices_[i], prices_[part]);
  }
  price_unmeasured();
}

cost::Database* KernelSearch::answers() const {
  return options_.keep_answers && options_.seconds > 0 ? options_.kept.database : nullptr;
}

// What the search depends on, besides times. The entry says whether it was disturbed; the note is
// the answer.
std::string KernelSearch::key_of_search() const {
  std::string all;
  const auto add_hash = [&](const auto& values) {
    all += base::content_hash(std::as_bytes(std::span(values))).to_hex();
  };
  add_hash(kernels_.graph.class_begin);
  add_hash(kernels_.graph.child_begin);
  add_hash(kernels_.graph.children);
  add_hash(kernels_.graph.roots);
  for (const std::size_t work : work_of_) all += egraph_.times.key(work);
  for (const Piece& piece : pieces_.all) add_hash(piece.nodes);
  for (const Given& one : given_) add_hash(one.makers);
  return "kernels by " + std::string(options_.extractor->name) + " in " +
         std::to_string(options_.extraction.time_limit_s) + " s, seed " +
         std::to_string(options_.extraction.seed) + ": " + base::content_hash(all).to_hex();
}

// Whether the database knows the answer. One that a limit cut off is a program to begin with. The
// bound is that of an extraction at the prices of now.
base::Result<bool> KernelSearch::recall() {
  if (answers() == nullptr) return false;
  const std::vector<double> costs = costs_of_kernels();
  const extract::Problem problem{kernels_.graph, costs};
  EGRET_ASSIGN_OR_RETURN(auto kept,
                         kept_choice(*answers(), options_.kept.machine, key_of_search(), problem));
  if (!kept) return false;
  std::optional<std::size_t> given;
  for (const Given& one : given_) {
    const auto nodes = kernels_.choice_of(pieces_, one.makers);
    if (extract::solution_of(problem, nodes).choice == kept->nodes) given = one.place;
  }
  EGRET_RETURN_IF_ERROR(
      try_choice(extract::solution_of(problem, std::move(kept->nodes)), given).status());
  if (!kept->is_final) return false;
  EGRET_ASSIGN_OR_RETURN(const extract::Solution solution, extract(problem));
  EGRET_RETURN_IF_ERROR(extract::check_solution(problem, solution));
  bound_by(problem, solution);
  return true;
}

base::Status KernelSearch::keep() {
  if (answers() == nullptr || !best_->times.measured || base::stop_requested()) return base::ok();
  const cost::Entry entry{.runs = rounds_,
                          .median_s = best_->times.seconds,
                          .disturbed = options_.kept.disturbed && options_.kept.disturbed()};
  return keep_choice(*answers(), options_.kept.machine, key_of_search(), entry, kernels_.graph,
                     {best_->solution.choice, is_final_});
}

// The answer at the prices of this extraction, whose bound holds for all answers.
void KernelSearch::bound_by(const extract::Problem& problem, const extract::Solution& solution) {
  best_->solution = extract::solution_of(problem, std::move(best_->solution.choice));
  best_->solution.bound = std::min(solution.bound, best_->solution.dag_cost);
  if (best_->solution.dag_cost <= solution.bound)
    best_->solution.quality = extract::Quality::kOptimal;
}

// Estimates need no time.
base::Status KernelSearch::try_given(std::vector<KernelTimes>& times_of_given) {
  for (const Given& one : given_) {
    if (options_.seconds > 0 && !may_measure() && !needs_answer()) break;
    const std::vector<double> costs = costs_of_kernels();
    const auto solution =
        extract::solution_of({kernels_.graph, costs}, kernels_.choice_of(pieces_, one.makers));
    EGRET_RETURN_IF_ERROR(try_choice(solution, one.place).status());
    times_of_given[one.place] = last_times_;
  }
  return base::ok();
}

base::Status KernelSearch::search() {
  EGRET_ASSIGN_OR_RETURN(const bool recalled, recall());
  if (recalled) return base::ok();
  EGRET_RETURN_IF_ERROR(begin());
  EGRET_RETURN_IF_ERROR(rounds());
  return keep();
}

base::Status KernelSearch::rounds() {
  while (true) {
    const std::vector<double> costs = costs_of_kernels();
    const extract::Problem problem{kernels_.graph, costs};
    EGRET_ASSIGN_OR_RETURN(const extract::Solution solution, extract(problem));
    EGRET_RETURN_IF_ERROR(extract::check_solution(problem, solution));
    ++rounds_;
    progress_.report({{base::kIteration, rounds_},
                      {base::kBestCost, solution.dag_cost},
                      {kKernels, newly_measured_}});
    is_final_ = true;
    const bool is_new = tried_.insert(solution.choice).second;
    if (!best_ || (is_new && may_gain(solution))) {
      EGRET_ASSIGN_OR_RETURN(const bool learned, try_choice(solution));
      is_final_ = last_times_.measured && !learned && !may_change();
      if ((learned || may_change()) && rounds_ < max_rounds() && may_explore()) continue;
    }
    EGRET_RETURN_IF_ERROR(settle());
    bound_by(problem, solution);
    return base::ok();
  }
}

base::Result<extract::Solution> KernelSearch::extract(const extract::Problem& problem) const {
  return extract_or_recall(*options_.extractor, problem, options_.extraction, answers());
}

// Prices are optimistic: what is not cheaper than the best program's kernels is not faster.
bool KernelSearch::may_gain(const extract::Solution& solution) const {
  double seconds = 0;
  for (const KernelTime& kernel : best_->times.kernels) seconds += kernel.seconds;
  return !best_->times.measured || solution.dag_cost < (1 - kRaceNoise) * seconds;
}

base::Result<bool> KernelSearch::try_choice(const extract::Solution& solution,
                                            std::optional<std::size_t> given) {
  EGRET_ASSIGN_OR_RETURN(const DividedGraph divided,
                         divided_graph(egraph_.tensors, egraph_.view, egraph_.leaves, pieces_,
                                       kernels_, solution.choice));
  EGRET_ASSIGN_OR_RETURN(ir::Graph folded,
                         rules::fold_constants(divided.graph, {.should_stop = base::stop_requested,
                                                               .known = &egraph_.folded}));
  KernelChoice choice;
  choice.program = carried_over(divided, std::move(folded));
  choice.solution = solution;
  choice.given = given;
  EGRET_ASSIGN_OR_RETURN(bool learned, prepare(choice));
  const DividedGraph& program = choice.program;
  EGRET_ASSIGN_OR_RETURN(const std::optional<KnownPartTimes> known, times_of(program));
  if (known) {
    std::vector<std::size_t> works;
    for (const std::uint32_t piece : program.pieces) works.push_back(work_of_[piece]);
    for (const std::uint32_t copy : program.copies) works.push_back(works_of_copies()[copy]);
    EGRET_ASSIGN_OR_RETURN(const std::int64_t measured, egraph_.times.learn(works, *known));
    update_prices();
    learned = learned || measured > 0;
    newly_measured_ += measured;
    choice.times = kernel_times(program.graph, program.division, known->times, program.layouts);
  } else {
    const std::vector<double> costs = costs_of_kernels();
    std::vector<double> prices;
    for (const std::uint32_t piece : program.pieces)
      prices.push_back(costs[kernels_.node_of[piece]]);
    for (const std::uint32_t copy : program.copies)
      prices.push_back(costs[kernels_.copies[copy].node]);
    choice.times = kernel_times(program.graph, program.division, prices, program.layouts);
  }
  last_times_ = choice.times;
  if (is_better(choice)) best_ = std::move(choice);
  return learned;
}

// Nothing where the time is over, or a stop was requested, for what was not measured before.
base::Result<std::optional<KnownPartTimes>> KernelSearch::times_of(
    const DividedGraph& program) const {
  if (options_.seconds <= 0) return std::optional<KnownPartTimes>();
  backends::CompileOptions plan = options_.plan;
  plan.division = program.division;
  plan.layouts = program.layouts;
  auto times =
      kept_part_times(*options_.backend, program.graph, plan, options_.kept, may_measure());
  if (!times.ok() && base::stop_requested()) return std::optional<KnownPartTimes>();
  return times;
}

// A measured program is better known than an estimated one. Of two measured ones, the given one has
// the advantage of the noise.
bool KernelSearch::is_better(const KernelChoice& choice) const {
  if (!best_ || choice.times.measured != best_->times.measured)
    return !best_ || choice.times.measured;
  const double margin = best_->given && !choice.given ? 1 - kRaceNoise : 1;
  return choice.times.seconds < margin * best_->times.seconds;
}

}  // namespace egret::driver
