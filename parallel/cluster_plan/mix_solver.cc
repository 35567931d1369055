// SPDX-License-Identifier: Apache-2.0
#include "parallel/cluster_plan/mix_solver.h"

#include <algorithm>
#include <limits>

namespace egret::parallel {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr int kMostRounds = 16;        // of the dynamic program
constexpr double kCloseEnough = 1e-3;  // of the bound to the best plan
constexpr std::size_t kMostPlans = 6;
constexpr std::int64_t kMostParts = 8;  // of a node, of which states tell how many are used
constexpr std::size_t kNoState = std::numeric_limits<std::size_t>::max();

}  // namespace

MixSolver::MixSolver(const StagePrices& prices, const PlanFrame& group, std::int64_t stages,
                     double limit_s, std::int64_t most_stages, bool only_passes)
    : prices_(prices),
      group_(group),
      frame_(group),
      stages_(stages),
      limit_s_(limit_s),
      only_passes_(only_passes),
      layers_(prices.model().layers),
      starts_(prices.distinct_layers()),
      most_(std::min(layers_, stages > 0 ? stages : most_stages)) {}

void MixSolver::add_pool(std::int64_t units) {
  pools_.push_back(units);
  strides_.push_back(unit_states_);
  unit_states_ *= static_cast<std::size_t>(units + 1);
}

void MixSolver::set_node(std::int64_t units) {
  node_ = units;
  part_ = (units + kMostParts - 1) / kMostParts;
  links_ = units > 1 ? link_of(units - 1) + 1 : 1;
}

void MixSolver::add_submesh(std::size_t pool, std::int64_t units,
                            std::vector<StageDegrees> degrees) {
  submeshes_.push_back({pool, units, std::move(degrees), units < node_});
}

std::size_t MixSolver::link_after(std::size_t link, const Submesh& submesh) const {
  if (!submesh.inside) return 0;
  const std::int64_t used = submesh.units + (link == 0 ? 0 : least_used(link));
  return used < node_ ? link_of(used) : 0;
}

void MixSolver::fill_rows() {
  // What a stage sends and exchanges does not depend on its place.
  frame_.pipeline = 2;
  for (Submesh& submesh : submeshes_) {
    for (const StageDegrees& degrees : submesh.degrees) {
      frame_.stages = {degrees};
      std::vector<StageTerms>& terms = submesh.terms.emplace_back();
      for (std::size_t near = 0; near < (submesh.inside ? kNear : 1); ++near)
        terms.emplace_back(prices_, frame_, PartitionPrice::kOpen, near_of(near));
    }
  }
  rows_.assign(row_of(submeshes_.size(), 0, false, 0, 0), {});
  for (std::size_t submesh = 0; submesh < submeshes_.size(); ++submesh) {
    for (std::int64_t after = 0; after < most_; ++after) {
      if (after > 0) fill_row(submesh, after, /*first=*/true, 0);
      if (after + 1 == most_) continue;
      for (std::int64_t start = starts_ > 1 ? 1 : 0; start < starts_; ++start)
        fill_row(submesh, after, /*first=*/false, start);
    }
  }
}

void MixSolver::fill_row(std::size_t submesh, std::int64_t after, bool first, std::int64_t start) {
  const std::size_t first_row = row_of(submesh, after, first, start, 0);
  const std::vector<StageDegrees>& all = submeshes_[submesh].degrees;
  PlanFrame frame = group_;
  frame.pipeline = first ? after + 1 : after + 2;
  const std::int64_t rank = first ? 0 : 1;
  // Each stage after it has a layer, and one comes before.
  const std::int64_t most = layers_ - after - (first ? 0 : std::max<std::int64_t>(start, 1));
  // Where layers differ, the last stage takes all that are left.
  const std::int64_t least = after == 0 && starts_ > 1 ? most : 1;
  for (std::uint32_t d = 0; d < all.size(); ++d) {
    frame.stages.assign(first ? 1 : 2, all[d]);
    std::vector<StageTerms> terms;
    for (const StageTerms& like : submeshes_[submesh].terms[d]) terms.emplace_back(like, frame);
    const double budget = only_passes_ ? kNever : prices_.memory_of(frame, rank);
    for (std::int64_t layers = least; layers <= most; ++layers) {
      const auto price = prices_.rank(frame, rank, layers, budget, start);
      if (!price) break;
      const double end_s =
          first && only_passes_ ? prices_.end_of_step_s(frame, *price, /*open=*/true) : 0;
      bool is_below = false;
      for (std::size_t near = 0; near < terms.size(); ++near) {
        PartitionTerms own = terms[near].of(*price, rank);
        own.sum -= end_s;
        if (own.sum + own.bottleneck >= limit_s_) continue;
        is_below = true;
        add_entry(rows_[first_row + near], layers, {own.sum, own.bottleneck, d},
                  only_passes_ ? 0 : own.end);
      }
      if (!is_below) break;
    }
  }
}

void MixSolver::add_entry(Row& row, std::int64_t layers, const Entry& entry, double end) {
  const auto place = static_cast<std::size_t>(layers - 1);
  if (row.entries.size() <= place) {
    row.entries.resize(place + 1);
    row.ends.resize(place + 1, kNever);
  }
  row.ends[place] = std::min(row.ends[place], end);
  std::vector<Entry>& entries = row.entries[place];
  const auto is_as_good = [](const Entry& a, const Entry& b) {
    return a.sum <= b.sum && a.bottleneck <= b.bottleneck;
  };
  if (std::ranges::any_of(entries, [&](const Entry& each) { return is_as_good(each, entry); }))
    return;
  std::erase_if(entries, [&](const Entry& each) { return is_as_good(entry, each); });
  entries.push_back(entry);
}

void MixSolver::choose(double high) {
  choices_.assign(rows_.size(), {});
  layers_of_unit_.assign(pools_.size(), 0);
  sum_of_layer_ = kNever;
  const std::size_t rows_of_submesh = rows_.size() / submeshes_.size();
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const Submesh& submesh = submeshes_[r / rows_of_submesh];
    Choices& choices = choices_[r];
    for (std::size_t i = 0; i < rows_[r].entries.size(); ++i) {
      double sum = kNever;
      std::uint32_t degrees = 0;
      for (const Entry& entry : rows_[r].entries[i]) {
        if (entry.bottleneck > high || entry.sum >= sum) continue;
        sum = entry.sum;
        degrees = entry.degrees;
      }
      choices.sums.push_back(sum);
      choices.degrees.push_back(degrees);
      if (sum == kNever) continue;
      const auto layers = static_cast<double>(i + 1);
      double& of_unit = layers_of_unit_[submesh.pool];
      of_unit = std::max(of_unit, layers / static_cast<double>(submesh.units));
      sum_of_layer_ = std::min(sum_of_layer_, sum / layers);
    }
  }
}

bool MixSolver::can_finish(std::size_t units, std::int64_t layers) const {
  double most = 0;
  for (std::size_t p = 0; p < pools_.size(); ++p) {
    const std::size_t used = units / strides_[p] % static_cast<std::size_t>(pools_[p] + 1);
    most += static_cast<double>(pools_[p] - static_cast<std::int64_t>(used)) * layers_of_unit_[p];
  }
  return most * (1 + 1e-9) >= static_cast<double>(layers);
}

MixSolver::Plan MixSolver::plan_of(const State& first, double sum) const {
  Plan plan{.sum = sum};
  const auto add = [&](const State& state) {
    plan.stages.push_back(submeshes_[state.submesh].degrees[state.degrees]);
    for (const Entry& entry :
         rows_[state.row].entries[static_cast<std::size_t>(state.layers - 1)]) {
      if (entry.degrees == state.degrees)
        plan.bottleneck = std::max(plan.bottleneck, entry.bottleneck);
    }
  };
  add(first);
  for (std::size_t s = first.before; states_[s].layers > 0; s = states_[s].before) add(states_[s]);
  return plan;
}

void MixSolver::extend(std::int64_t stages, std::int64_t covered, std::size_t units,
                       std::size_t link, double limit, double& best, std::optional<State>& first) {
  const std::size_t here = state_of(stages, covered, units, link);
  const double sum = states_[here].sum;
  const std::int64_t left = layers_ - covered;
  const std::size_t near_next = link > 0 ? 2 : 0;
  for (std::uint32_t s = 0; s < submeshes_.size(); ++s) {
    const Submesh& submesh = submeshes_[s];
    if (link > 0 && !has_room(link, submesh)) continue;
    const auto used = static_cast<std::int64_t>(units / strides_[submesh.pool] %
                                                static_cast<std::size_t>(pools_[submesh.pool] + 1));
    if (used + submesh.units > pools_[submesh.pool]) continue;
    const auto state_with = [&](double value, std::size_t row, std::int64_t layers) {
      return State{value,
                   here,
                   s,
                   choices_[row].degrees[static_cast<std::size_t>(layers - 1)],
                   static_cast<std::uint32_t>(row),
                   static_cast<std::int32_t>(layers)};
    };
    if (stages > 0 && (stages_ == 0 || stages + 1 == stages_)) {
      const std::size_t row = row_of(s, stages, true, 0, near_next);
      const auto place = static_cast<std::size_t>(left - 1);
      if (place < choices_[row].sums.size() && sum + choices_[row].sums[place] < best) {
        best = sum + choices_[row].sums[place];
        first = state_with(best, row, left);
      }
    }
    if (stages + 1 == most_) continue;
    const std::size_t next_units =
        units + strides_[submesh.pool] * static_cast<std::size_t>(submesh.units);
    const std::size_t near_link = link_after(link, submesh);
    for (const std::size_t next_link : {std::size_t{0}, near_link}) {
      for (std::int64_t layers = 1; layers < left; ++layers) {
        const std::size_t row =
            row_of(s, stages, false, left - layers, near_next + (next_link > 0 ? 1 : 0));
        const auto place = static_cast<std::size_t>(layers - 1);
        if (place >= choices_[row].sums.size()) {
          if (starts_ == 1) break;
          continue;
        }
        if (sum + rows_[row].ends[place] >= limit) continue;
        const double next = sum + choices_[row].sums[place];
        State& state = states_[state_of(stages + 1, covered + layers, next_units, next_link)];
        if (next < state.sum) state = state_with(next, row, layers);
      }
      if (near_link == 0) break;
    }
  }
}

std::optional<MixSolver::Plan> MixSolver::least_sum(double high, double cut, double limit) {
  choose(high);
  states_.assign(state_of(most_, 0, 0, 0), {kNever, kNoState, 0, 0, 0, 0});
  states_[0].sum = 0;
  double best = cut;
  std::optional<State> first_stage;
  for (std::int64_t stages = 0; stages < most_; ++stages) {
    for (std::int64_t covered = stages; covered < layers_; ++covered) {
      const std::int64_t left = layers_ - covered;
      for (std::size_t units = 0; units < unit_states_; ++units) {
        if (!can_finish(units, left)) continue;
        for (std::size_t link = 0; link < links_; ++link) {
          const double sum = states_[state_of(stages, covered, units, link)].sum;
          if (sum + sum_of_layer_ * static_cast<double>(left) < best)
            extend(stages, covered, units, link, limit, best, first_stage);
        }
      }
    }
  }
  if (!first_stage) return std::nullopt;
  return plan_of(*first_stage, best);
}

std::optional<MixSolver::Answer> MixSolver::solve() {
  if (submeshes_.empty() || most_ < 2) return std::nullopt;
  fill_rows();
  std::vector<Plan> plans;
  std::vector<Interval> open;
  double least = limit_s_;
  // Plans with bottlenecks between that of the plan and HIGH take at least as long as the plan.
  const auto add = [&](double low, double bound, const Plan& plan) {
    open.push_back({low, plan.bottleneck, plan.sum, bound});
    least = std::min(least, plan.value());
    plans.push_back(plan);
  };
  const auto all = least_sum(kNever, limit_s_, limit_s_);
  if (!all) return std::nullopt;
  add(0, 0, *all);
  for (int round = 0; round < kMostRounds; ++round) {
    const auto next = std::ranges::min_element(open, {}, &Interval::bound);
    if (next == open.end() || next->bound() >= least * (1 - kCloseEnough)) break;
    const Interval interval = *next;
    open.erase(next);
    // Do the ends of later stages alone leave nothing that is much better?
    const double limit = (interval.bound() + least) / 2;
    if (!only_passes_ && !least_sum(interval.high, limit - interval.low, limit)) {
      open.push_back({interval.low, interval.high, interval.sum, limit});
      continue;
    }
    const double middle = (interval.low + interval.high) / 2;
    if (const auto plan = least_sum(middle, least - interval.low, least))
      add(interval.low, interval.least, *plan);
    open.push_back({middle, interval.high, interval.sum, interval.least});
  }
  Answer answer{.bound_s = least};
  for (const Interval& interval : open) answer.bound_s = std::min(answer.bound_s, interval.bound());
  if (answer.bound_s >= limit_s_) return std::nullopt;
  std::ranges::stable_sort(plans, {}, &Plan::value);
  for (Plan& plan : plans) {
    if (answer.stages.size() < kMostPlans &&
        std::ranges::find(answer.stages, plan.stages) == answer.stages.end())
      answer.stages.push_back(std::move(plan.stages));
  }
  return answer;
}

}  // namespace egret::parallel
