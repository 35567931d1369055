// SPDX-License-Identifier: Apache-2.0
#include "driver/select/layout_search.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <utility>

#include "backends/layout_forms.h"
#include "driver/measure/race.h"

namespace egret::driver {
namespace {

using extract::ClassIndex;
using extract::NodeIndex;
using extract::Piece;

// Until copies were measured: a core's share of a fast memory, both ways.
constexpr double kSecondsPerByte = 1 / 50e9;
// What a kernel may gain by layouts that the backend does not choose, until such kernels were
// measured.
constexpr double kHope = 0.85;

// A kernel has several layouts, so that there is more to measure than without.
constexpr int kTimesTheRounds = 3;
// Of the time, to measure new kernels; the rest is for programs of those that are known.
constexpr double kShareOfNew = 0.8;
constexpr int kSettlingRounds = 8;

constexpr std::size_t kForms = backends::kLayoutForms.size();

std::size_t place_of(const Piece& piece) { return piece.reads * kForms + piece.writes; }

double quartile(std::vector<double> values, double otherwise) {
  if (values.empty()) return otherwise;
  std::ranges::sort(values);
  return values[values.size() / 4];
}

double bytes_of(const ir::TensorType& type) { return 2 * static_cast<double>(type.bytes()); }

}  // namespace

// The kernels of the start are first tried in the layouts that the backend gave them.
base::Result<KernelChoice> LayoutSearch::run_from(KernelStart start) {
  const KernelChoice before = start.choice;
  if (!before.times.measured) return before;
  backends::CompileOptions plan = options_.plan;
  plan.division = start.choice.program.division;
  EGRET_ASSIGN_OR_RETURN(const auto compiled,
                         options_.backend->compile(start.choice.program.graph, plan));
  const std::vector<backends::KernelLayouts> observed = compiled->report().layouts;
  // Some it gives only of its own accord: asked for them, it makes another kernel.
  plan.layouts.kernels = observed;
  EGRET_ASSIGN_OR_RETURN(const auto asked,
                         options_.backend->compile(start.choice.program.graph, plan));
  const std::vector<backends::KernelLayouts> given = asked->report().layouts;
  for (std::size_t k = 0; k < std::min(observed.size(), start.pieces.size()); ++k) {
    Piece& piece = start.pieces[k];
    const bool is_given = k < given.size() && given[k] == observed[k];
    const backends::KernelLayouts own = is_given ? observed[k] : nearest(piece, observed[k]);
    piece.reads = static_cast<std::uint32_t>(own.reads);
    piece.writes = static_cast<std::uint32_t>(own.writes);
  }
  start_ = start.pieces;
  std::vector<KernelStart> starts;
  starts.push_back(std::move(start));
  EGRET_ASSIGN_OR_RETURN(KernelChoice choice, run({}, std::move(starts)));
  choice.times_of_given = before.times_of_given;
  choice.rounds += before.rounds;
  return choice;
}

backends::KernelLayouts LayoutSearch::nearest(const Piece& piece,
                                              const backends::KernelLayouts& layouts) const {
  const auto graph = graph_of(egraph_.tensors, egraph_.view, piece);
  if (!graph.ok()) return layouts;
  const std::vector<backends::KernelLayouts> possible =
      backends::layout_forms_of(*options_.backend)->layouts_of(*graph, options_.plan);
  if (possible.empty()) return layouts;
  const auto same = std::ranges::find(possible, layouts.writes, &backends::KernelLayouts::writes);
  return same != possible.end() ? *same : possible.front();
}

std::vector<bool> LayoutSearch::formed_classes() const {
  std::vector<bool> formed;
  for (const egraph::ClassId id : egraph_.view.class_id) {
    formed.push_back(backends::has_layout_forms(egraph_.tensors.type(id)) &&
                     !egraph_.tensors.is_constant(id));
  }
  return formed;
}

// Others are the same in all layouts.
bool LayoutSearch::is_laid_out(const Piece& piece) const {
  return std::ranges::any_of(piece.nodes, [&](NodeIndex node) {
    return formed_[egraph_.view.node_class[node]] ||
           std::ranges::any_of(egraph_.view.children_of(node),
                               [&](ClassIndex child) { return formed_[child]; });
  });
}

PieceForms LayoutSearch::add_forms() {
  const backends::LayoutForms& forms = *backends::layout_forms_of(*options_.backend);
  formed_ = formed_classes();
  const std::vector<Piece> known = pieces_.all;
  std::set<std::uint32_t> possible;
  for (const std::uint32_t number : add_pieces(egraph_.view, start_, pieces_))
    possible.insert(number);
  for (std::uint32_t i = 0; i < known.size(); ++i) {
    const Piece& piece = known[i];
    const auto graph = graph_of(egraph_.tensors, egraph_.view, piece);
    if (!is_laid_out(piece) || !graph.ok()) {
      possible.insert(i);
      continue;
    }
    for (const backends::KernelLayouts& layouts : forms.layouts_of(*graph, options_.plan)) {
      Piece laid_out = piece;
      laid_out.reads = static_cast<std::uint32_t>(layouts.reads);
      laid_out.writes = static_cast<std::uint32_t>(layouts.writes);
      std::vector<Piece> added;
      added.push_back(std::move(laid_out));
      possible.insert(add_pieces(egraph_.view, std::move(added), pieces_).front());
    }
  }
  has_layouts_.assign(pieces_.all.size(), false);
  for (const std::uint32_t number : possible) has_layouts_[number] = true;
  return plain_forms(pieces_);
}

base::Status LayoutSearch::look_up_others() {
  for (const Piece& piece : pieces_.all) {
    EGRET_ASSIGN_OR_RETURN(const std::size_t work,
                           egraph_.times.work_of(piece, backends::OperandForm::kF32));
    plain_work_.push_back(work);
    in_layouts_.push_back(is_laid_out(piece));
  }
  for (const extract::KernelGraph::Copy& copy : kernels_.copies) {
    const ir::TensorType& type = egraph_.tensors.type(egraph_.view.class_id[copy.value]);
    EGRET_ASSIGN_OR_RETURN(
        const std::size_t work,
        egraph_.times.work_of_copy(type, layout_form(copy.from), layout_form(copy.to)));
    work_of_copy_.push_back(work);
  }
  copy_prices_.resize(work_of_copy_.size());
  is_copy_measured_.resize(work_of_copy_.size());
  return base::ok();
}

// A kernel in layouts that were not measured is priced by its time in the backend's own layouts, if
// that is known, and by what the same layouts meant for other kernels. Both are quartiles, so that
// most prices are lower than the times.
void LayoutSearch::price_unmeasured() {
  std::array<std::vector<double>, kForms * kForms> factors;
  for (std::size_t i = 0; i < prices_.size(); ++i) {
    if (!in_layouts_[i] || !is_measured_[i] || !egraph_.times.is_measured(plain_work_[i])) continue;
    const double plain = egraph_.times.seconds(plain_work_[i]);
    if (plain > 0) factors[place_of(pieces_.all[i])].push_back(prices_[i] / plain);
  }
  std::array<double, kForms * kForms> factor{};
  for (std::size_t k = 0; k < factor.size(); ++k)
    factor[k] = quartile(std::move(factors[k]), kHope);
  for (std::size_t i = 0; i < prices_.size(); ++i) {
    if (is_measured_[i] || !in_layouts_[i]) continue;
    if (egraph_.times.is_measured(plain_work_[i]))
      prices_[i] = egraph_.times.seconds(plain_work_[i]);
    prices_[i] *= factor[place_of(pieces_.all[i])];
  }
  std::vector<double> rates;
  for (std::size_t i = 0; i < copy_prices_.size(); ++i) {
    if (!egraph_.times.is_measured(work_of_copy_[i])) continue;
    const ClassIndex value = kernels_.copies[i].value;
    rates.push_back(egraph_.times.seconds(work_of_copy_[i]) /
                    bytes_of(egraph_.tensors.type(egraph_.view.class_id[value])));
  }
  const double rate = quartile(std::move(rates), kSecondsPerByte);
  for (std::size_t i = 0; i < copy_prices_.size(); ++i) {
    const ClassIndex value = kernels_.copies[i].value;
    is_copy_measured_[i] = egraph_.times.is_measured(work_of_copy_[i]);
    copy_prices_[i] = is_copy_measured_[i]
                          ? egraph_.times.seconds(work_of_copy_[i])
                          : rate * bytes_of(egraph_.tensors.type(egraph_.view.class_id[value]));
  }
}

std::vector<double> LayoutSearch::costs_of_kernels() const {
  std::vector<double> costs = kernels_.costs(prices_, copy_prices_);
  for (std::size_t i = 0; i < has_layouts_.size(); ++i) {
    if (!has_layouts_[i]) costs[kernels_.node_of[i]] = std::numeric_limits<double>::infinity();
  }
  return costs;
}

// Prices are guesses where they are not measured, not bounds.
bool LayoutSearch::may_gain(const extract::Solution& /*solution*/) const { return true; }

// The backend's own layouts have the advantage of the noise.
bool LayoutSearch::is_better(const KernelChoice& choice) const {
  if (!best_ || choice.times.measured != best_->times.measured)
    return !best_ || choice.times.measured;
  const bool is_own = best_->program.layouts.empty();
  return choice.times.seconds < (is_own ? 1 - kRaceNoise : 1) * best_->times.seconds;
}

int LayoutSearch::max_rounds() const { return kTimesTheRounds * options_.max_rounds; }

double LayoutSearch::exploring_share() const { return kShareOfNew; }

base::Status LayoutSearch::begin() {
  const extract::Solution start = best_->solution;
  return try_choice(start).status();
}

// A program of new kernels is seldom faster than its prices, which are hopes. The last programs are
// therefore the fastest of kernels and copies that were measured; all of them are in the start.
base::Status LayoutSearch::settle() {
  for (int i = 0; i < kSettlingRounds && may_measure(); ++i) {
    std::vector<double> costs = costs_of_kernels();
    for (std::size_t k = 0; k < is_measured_.size(); ++k) {
      if (!is_measured_[k]) costs[kernels_.node_of[k]] = std::numeric_limits<double>::infinity();
    }
    for (std::size_t k = 0; k < is_copy_measured_.size(); ++k) {
      if (!is_copy_measured_[k])
        costs[kernels_.copies[k].node] = std::numeric_limits<double>::infinity();
    }
    const extract::Problem problem{kernels_.graph, costs};
    EGRET_ASSIGN_OR_RETURN(const extract::Solution solution, extract(problem));
    EGRET_RETURN_IF_ERROR(extract::check_solution(problem, solution));
    if (!tried_.insert(solution.choice).second) break;
    EGRET_RETURN_IF_ERROR(try_choice(solution).status());
  }
  return base::ok();
}

}  // namespace egret::driver
