// SPDX-License-Identifier: Apache-2.0
#include "parallel/cluster_plan/cluster_planner.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "base/stop.h"
#include "base/system/thread_pool.h"
#include "base/timer.h"
#include "parallel/cluster_plan/choice_runners_up.h"
#include "parallel/cluster_plan/cluster_baselines.h"
#include "parallel/cluster_plan/layer_moves.h"
#include "parallel/cluster_plan/plan_trials.h"
#include "parallel/cluster_plan/stage_mix.h"

namespace egret::parallel {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostFrames = 400'000;  // kept; the least bounds
constexpr std::size_t kDivided = 256;         // frames whose layers are divided in a round
constexpr std::size_t kSimulated = 8;         // plans in a round
constexpr std::size_t kMixed = 8;             // groups of mixed stages at a time
constexpr std::int64_t kMixedShare = 4;       // one of so many simulations is for them, in addition
constexpr std::size_t kPolished = 3;          // plans whose layers are moved
constexpr double kClose = 5e-3;               // above the bound
constexpr double kLongStep = 5e4;             // tasks
constexpr std::string_view kAnyRule = "any";

inline constexpr base::ProgressColumn kSimulations{
    "simulations", "simulated", base::ProgressColumn::Unit::kCount, "simulated plans"};

// Plans whose simulated times exceed their bounds by about the same part.
using Kind = std::tuple<PipelineKind, bool, bool, std::int64_t, Offload>;
Kind kind_of(const PlanFrame& frame) {
  return {frame.schedule, frame.pipeline > 1, frame.virtual_stages > 1,
          frame.zero >= 2 ? frame.zero : 0, frame.offload};
}

struct Candidate {
  double bound_s = 0;
  PlanFrame frame;
  friend auto operator<=>(const Candidate&, const Candidate&) = default;
};

class Search {
 public:
  Search(const ClusterTask& task, const ClusterPlanOptions& options, base::ProgressSink* sink)
      : task_(task),
        options_(options),
        sink_(sink),
        prices_(task.system, task.model, task.step, task.fixed),
        trials_(prices_, options.devices, base::Deadline::after(options.limit_plan_time)),
        space_{task.model, options.devices, task_.fixed, task.step.host_memory > 0} {}

  base::Result<ClusterPlan> run(bool explain) {
    if (options_.rule != kAnyRule) return of_rule();
    if (!options_.without_baselines) {
      plan_.baselines = plan_baselines(space_, trials_, sink_);
      for (PlannedBaseline& baseline : plan_.baselines) {
        if (!baseline.exists) continue;
        // The rule's own price is no bound.
        const auto found = trials_.partition(baseline.step.frame);
        baseline.step.bound_s = found ? found->bound_s : 0;
        consider(baseline.step);
      }
    }
    seed();
    search();
    polish(/*mixed=*/false);
    if (!options_.equal_degrees) {
      mix();
      polish(/*mixed=*/true);
    }
    if (pool_.empty()) return failure();
    finish();
    if (explain && plan_.best.fits())
      plan_.runners_up = choice_runners_up(space_, trials_, plan_.best, pool_, sink_);
    plan_.counts.simulations = trials_.simulations();
    plan_.counts.partitions = trials_.partitions();
    plan_.seconds = timer_.seconds();
    return std::move(plan_);
  }

 private:
  // The plan of one rule, which is not compared with others.
  base::Result<ClusterPlan> of_rule() {
    std::vector<PlannedBaseline> found = plan_baselines(space_, trials_, sink_, options_.rule);
    if (found.empty() || !found.front().exists) {
      if (trials_.stopped()) return base::limit_hit("stopped before a plan was found");
      return base::usage_error("--rule " + options_.rule +
                               " has no plan for these sizes, this number of devices and the "
                               "given choices");
    }
    PlannedStep& step = found.front().step;
    const auto bound = trials_.partition(step.frame);
    step.bound_s = bound ? bound->bound_s : 0;
    consider(step);
    finish();
    plan_.bound_s = std::min(plan_.best.seconds, step.bound_s);
    plan_.stop_reason = "rule";
    plan_.counts.simulations = trials_.simulations();
    plan_.counts.partitions = trials_.partitions();
    plan_.seconds = timer_.seconds();
    return std::move(plan_);
  }

  // The time of the best plan that fits.
  double incumbent() const {
    return !pool_.empty() && pool_.front().fits() ? pool_.front().seconds : kNever;
  }

  // The pool is sorted, and its plans have different frames.
  void consider(const PlannedStep& step) {
    const auto same = std::ranges::find(pool_, step.frame, &PlannedStep::frame);
    if (same != pool_.end()) {
      if (!better(step, *same)) return;
      const double bound = same->bound_s;
      pool_.erase(same);
      pool_.insert(std::ranges::lower_bound(pool_, step, better), step)->bound_s = bound;
      return;
    }
    pool_.insert(std::ranges::lower_bound(pool_, step, better), step);
  }

  bool stopped() {
    if (trials_.stopped()) plan_.stop_reason = base::stop_requested() ? "signal" : "time";
    return !plan_.stop_reason.empty();
  }

  base::Status failure() const {
    if (base::stop_requested() || plan_.stop_reason == "time")
      return base::limit_hit("stopped before a plan was found");
    return base::usage_error(
        "no plan exists for these sizes, this number of devices and the given choices");
  }

  // Frames below the incumbent, sorted by their bounds.
  std::vector<Candidate> frames(std::size_t most,
                                const std::function<bool(const PlanFrame&)>& wanted) {
    base::Progress progress(sink_, "frames");
    std::vector<Candidate> result;
    const double limit = incumbent();
    double most_bound = kNever;
    const auto shrink = [&] {
      std::ranges::nth_element(result, result.begin() + static_cast<std::ptrdiff_t>(most));
      most_bound = result[most].bound_s;
      left_out_s_ = std::min(left_out_s_, most_bound);
      result.resize(most);
    };
    space_.visit(
        [&](const PlanFrame& group) {
          if (progress.due()) progress.report({{base::kItems, result.size()}});
          return !stopped() && group_bound_s(prices_, group) < std::min(limit, most_bound);
        },
        [&](const PlanFrame& frame) {
          if (!wanted(frame) || exceeds_memory(prices_, frame)) return;
          const double bound = frame_bound_s(prices_, frame);
          if (bound >= std::min(limit, most_bound)) return;
          if (!trials_.can_simulate(frame)) {
            left_out_s_ = std::min(left_out_s_, bound);
            return;
          }
          result.push_back({bound, frame});
          if (result.size() >= 2 * most) shrink();
        });
    if (result.size() > most) shrink();
    if (stopped()) left_out_s_ = 0;  // not all of the space was seen
    std::ranges::sort(result);
    return result;
  }

  // First plans, of frames that are good as a rule. If none fits, of those that save memory.
  void seed() {
    for (const Offload offload : kOffloads) {
      if (offload != Offload::kNone && incumbent() < kNever) break;
      const std::vector<Candidate> some = frames(kDivided, [&](const PlanFrame& frame) {
        return frame.offload == offload &&
               (frame.zero == 1 || (frame.zero == 3 && incumbent() == kNever) ||
                frame.copies() == 1) &&
               frame.sequence_parallel == (frame.tensor > 1) &&
               prices_.least_memory(frame, 0, prices_.equal_layers(frame)) <=
                   prices_.memory_of(frame, 0);
      });
      divide(some);
      for (int round = 0; round < 4 && !divided_.empty() && !stopped(); ++round) {
        if (round >= 2 && incumbent() < kNever) break;
        simulate_round();
      }
      divided_.clear();
    }
    left_out_s_ = open_bound_s_ = kNever;
  }

  // Divides the layers of the frames; those that may be better are kept.
  void divide(std::span<const Candidate> candidates) {
    std::vector<double> bounds(candidates.size(), kNever);
    const double limit = incumbent();
    base::shared_pool().parallel_for(candidates.size(), 4, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end && !trials_.stopped(); ++i) {
        if (const auto found =
                trials_.partition(candidates[i].frame, {}, PartitionPrice::kBound, limit))
          bounds[i] = found->bound_s;
      }
    });
    const bool cut_short = trials_.stopped();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (cut_short && bounds[i] == kNever)
        open_bound_s_ = std::min(open_bound_s_, candidates[i].bound_s);
      if (bounds[i] < incumbent())
        divided_.push_back({std::max(bounds[i], candidates[i].bound_s), candidates[i].frame});
    }
  }

  double corrected(const Candidate& candidate) const {
    const auto found = corrections_.find(kind_of(candidate.frame));
    return candidate.bound_s *
           (found == corrections_.end() ? 1 : found->second.first / found->second.second);
  }

  // Simulates the plans with the least prices, and corrects the prices.
  void simulate_round() {
    const bool ranks = !ranking_holds_;
    const auto price = [&](const Candidate& candidate) {
      return std::pair(ranks ? corrected(candidate) : candidate.bound_s, candidate);
    };
    const auto count = std::min(kSimulated, divided_.size());
    std::ranges::partial_sort(divided_, divided_.begin() + static_cast<std::ptrdiff_t>(count), {},
                              price);
    std::vector<std::optional<PlannedStep>> steps(count);
    base::shared_pool().parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) steps[i] = trials_.fit(divided_[i].frame);
    });
    for (std::size_t i = 0; i < count; ++i) {
      if (!steps[i] && trials_.stopped())
        open_bound_s_ = std::min(open_bound_s_, divided_[i].bound_s);
      if (!steps[i]) continue;
      auto& [sum, number] = corrections_[kind_of(steps[i]->frame)];
      sum += steps[i]->seconds / divided_[i].bound_s;
      number += 1;
      // With one stage nothing remains open.
      steps[i]->bound_s = steps[i]->frame.pipeline == 1 ? steps[i]->seconds : divided_[i].bound_s;
      if (steps[i]->bound_s < simulated_bound_s_) simulated_bound_s_ = steps[i]->bound_s;
      consider(*steps[i]);
    }
    divided_.erase(divided_.begin(), divided_.begin() + static_cast<std::ptrdiff_t>(count));
    std::erase_if(divided_, [&](const Candidate& each) { return each.bound_s >= incumbent(); });
    ++plan_.counts.rounds;
  }

  void search() {
    const std::vector<Candidate> all = frames(kMostFrames, [](const PlanFrame&) { return true; });
    plan_.counts.frames = static_cast<std::int64_t>(all.size());
    base::Progress progress(sink_, "simulations");
    std::size_t next = 0, divisions = 0;
    const auto open = [&] { return next < all.size() && all[next].bound_s < incumbent(); };
    while (!stopped() && (open() || !divided_.empty())) {
      if (trials_.simulations() >= options_.limit_simulations) {
        plan_.stop_reason = "simulations";
        break;
      }
      if (open()) {
        const std::size_t count = std::min(kDivided, all.size() - next);
        divide(std::span(all).subspan(next, count));
        next += count;
        ++divisions;
      }
      const auto promising = [&](const Candidate& each) { return corrected(each) < incumbent(); };
      ranking_holds_ = !open() && std::ranges::none_of(divided_, promising);
      // While frames are to come, few plans are simulated: a better plan leaves more frames out,
      // but the best of all come first once all are known.
      if (!open() || (std::has_single_bit(divisions) && std::ranges::any_of(divided_, promising)))
        simulate_round();
      if (progress.due()) {
        progress.report({{kSimulations, trials_.simulations()},
                         {base::kBestCost, incumbent() == kNever ? 0 : incumbent()}});
      }
    }
    if (plan_.stop_reason.empty()) plan_.stop_reason = "bound";
    if (next < all.size()) open_bound_s_ = std::min(open_bound_s_, all[next].bound_s);
    for (const Candidate& each : divided_) open_bound_s_ = std::min(open_bound_s_, each.bound_s);
  }

  // Plans whose stages have degrees of their own. As in search(), few are simulated while groups
  // are to come.
  void mix() {
    const StageMixes mixes(prices_, options_.devices, task_.fixed, space_.disks);
    std::vector<MixedGroup> groups = mixes.groups();
    base::Progress progress(sink_, "stages");
    mixes.raise_bounds(groups, incumbent());
    divided_.clear();
    std::int64_t left = std::max<std::int64_t>(1, options_.limit_simulations / kMixedShare);
    std::size_t next = 0;
    while (next < groups.size() && groups[next].bound_s < incumbent() && !trials_.stopped()) {
      const std::size_t count = std::min(kMixed, groups.size() - next);
      const double limit = incumbent();
      std::vector<std::optional<MixedPlans>> found(count);
      base::shared_pool().parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end && !trials_.stopped(); ++i)
          found[i] = mixes.solve(groups[next + i].frame, limit);
      });
      if (trials_.stopped()) break;
      std::vector<PlanFrame> frames;
      for (const std::optional<MixedPlans>& plans : found) {
        if (!plans) continue;
        mixed_bound_s_ = std::min(mixed_bound_s_, plans->bound_s);
        frames.insert(frames.end(), plans->frames.begin(), plans->frames.end());
      }
      plan_.counts.groups += static_cast<std::int64_t>(count);
      divide_mixed(frames);
      left -= simulate_mixed();
      next += count;
      if (progress.due()) progress.report({{base::kItems, next}});
    }
    if (next < groups.size()) left_out_s_ = std::min(left_out_s_, groups[next].bound_s);
    while (!divided_.empty() && left > 0 && !trials_.stopped()) left -= simulate_mixed();
    if (trials_.stopped()) plan_.stop_reason = base::stop_requested() ? "signal" : "time";
  }

  // Their layers, with what they really send. The bounds of their groups hold without them.
  void divide_mixed(const std::vector<PlanFrame>& frames) {
    std::vector<double> bounds(frames.size(), kNever);
    base::shared_pool().parallel_for(frames.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end && !trials_.stopped(); ++i) {
        if (!trials_.can_simulate(frames[i])) continue;
        if (const auto found =
                trials_.partition(frames[i], {}, PartitionPrice::kBound, incumbent()))
          bounds[i] = found->bound_s;
      }
    });
    for (std::size_t i = 0; i < frames.size(); ++i) {
      if (bounds[i] < incumbent()) divided_.push_back({bounds[i], frames[i]});
    }
  }

  // Simulates the plans of the least bounds, and returns their number.
  std::int64_t simulate_mixed() {
    const auto count = std::min(kSimulated, divided_.size());
    std::ranges::partial_sort(divided_, divided_.begin() + static_cast<std::ptrdiff_t>(count));
    std::vector<std::optional<PlannedStep>> steps(count);
    base::shared_pool().parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) steps[i] = trials_.fit(divided_[i].frame);
    });
    for (const auto& step : steps) {
      if (step) consider(*step);
    }
    divided_.erase(divided_.begin(), divided_.begin() + static_cast<std::ptrdiff_t>(count));
    std::erase_if(divided_, [&](const Candidate& each) { return each.bound_s >= incumbent(); });
    return static_cast<std::int64_t>(count);
  }

  // Moves layers between the stages of the best plans, whose stages have degrees of their own or
  // not.
  void polish(bool mixed) {
    std::vector<PlannedStep> best(
        pool_.begin(),
        pool_.begin() + static_cast<std::ptrdiff_t>(std::min(pool_.size(), kPolished)));
    for (const PlannedStep& step : best) {
      if (!step.fits() || step.frame.stages.empty() == mixed || trials_.stopped()) continue;
      // Long simulations must be worth it.
      const bool close = step.seconds <= (1 + kClose) * step.bound_s;
      if (close && trials_.tasks(step.frame) > kLongStep) continue;
      consider(with_moved_layers(trials_, step));
    }
  }

  void finish() {
    plan_.best = pool_.front();
    plan_.ranking.assign(
        pool_.begin(),
        pool_.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(
                            pool_.size(), static_cast<std::size_t>(options_.plans))));
    plan_.bound_s = std::min(
        {plan_.best.seconds, open_bound_s_, simulated_bound_s_, left_out_s_, mixed_bound_s_});
    plan_.setup = task_.model;
    plan_.options = task_.step;
    apply(plan_.best.frame, plan_.setup, plan_.options);
    plan_.setup.set_chunks(plan_.best.chunks);
  }

  const ClusterTask& task_;
  const ClusterPlanOptions& options_;
  base::ProgressSink* sink_;
  base::Stopwatch timer_;
  StagePrices prices_;
  PlanTrials trials_;
  FrameSpace space_;
  ClusterPlan plan_;
  std::vector<PlannedStep> pool_;
  std::vector<Candidate> divided_;                         // not simulated yet
  std::map<Kind, std::pair<double, double>> corrections_;  // sum and number of ratios
  bool ranking_holds_ = false;
  double left_out_s_ = kNever;         // the least bound of frames that were not kept
  double open_bound_s_ = kNever;       // of those that were not simulated
  double simulated_bound_s_ = kNever;  // of the simulated ones' frames
  double mixed_bound_s_ = kNever;      // of groups with degrees by stage
};

std::vector<std::string> rule_names() {
  std::vector<std::string> names = {std::string(kAnyRule)};
  for (const std::string_view name : baseline_rules()) names.emplace_back(name);
  return names;
}

base::Status check(const ClusterTask& task, const ClusterPlanOptions& options) {
  const std::vector<std::string> rules = rule_names();
  if (std::ranges::find(rules, options.rule) == rules.end())
    return base::usage_error("unknown rule '" + options.rule + "'");
  if (options.devices < 1) {
    return base::usage_error("--devices is missing: the number of devices to plan for");
  }
  TrainingSetup model = task.model;
  model.tensor = model.pipeline = model.data = model.context = model.virtual_stages = 1;
  model.micro_batch = model.expert_parallel = 1;
  model.expert_tensor = 0;
  model.sequence_parallel = false;
  model.schedule = PipelineKind::k1F1B;
  if (!model.stage_layers.empty() || !model.full_layers.empty() ||
      !model.selective_layers.empty() || model.has_unlike_stages()) {
    return base::usage_error(
        "the plan chooses --stage-layers, --full-layers, --selective-layers, --stage-tp, "
        "--stage-cp, "
        "--stage-dp and --stage-first");
  }
  if (model.experts == 0 &&
      (task.fixed.expert_parallel.value_or(1) > 1 || task.fixed.expert_tensor.value_or(0) > 1))
    return base::usage_error("--ep and --expert-tp need --experts");
  EGRET_RETURN_IF_ERROR(model.check());
  EGRET_RETURN_IF_ERROR(task.system.check(options.devices, model.precision));
  StepOptions step = task.step;
  step.zero = 0;
  step.offload = Offload::kNone;
  if (step.forward_only || step.trials > 0 || step.each_replica) {
    return base::usage_error(
        "--forward-only, --trials and --each-replica cannot be combined with a plan");
  }
  return step.check(model);
}

}  // namespace

const base::OptionTable<ClusterPlanOptions>& ClusterPlanOptions::table() {
  using C = ClusterPlanOptions;
  static const base::OptionTable<C> rows{
      "plan-cluster",
      {{"devices", &C::devices, "Devices of a transformer's plan", base::range(0, 1e7)},
       {"plans", &C::plans, "Plans of a transformer to list", base::range(1, 1000)},
       {"limit-simulations", &C::limit_simulations,
        "Stop a transformer's plan after so many simulated steps", base::range(1, 1e6)},
       {"limit-plan-time", &C::limit_plan_time, "Stop a transformer's plan after this time",
        base::seconds()},
       {"without-baselines", &C::without_baselines,
        "Do not plan by other planners' rules for comparison"},
       {"rule", &C::rule,
        "Rule that makes a transformer's plan: any (the fastest plan), or that of an expert or of "
        "another planner",
        base::one_of(rule_names())},
       {"equal-degrees", &C::equal_degrees,
        "Give all stages of a transformer's plan the same degrees"}}};
  return rows;
}

base::Result<ClusterPlan> plan_cluster(const ClusterTask& task, const ClusterPlanOptions& options,
                                       bool explain, base::ProgressSink* progress) {
  EGRET_RETURN_IF_ERROR(check(task, options));
  if (explain && options.rule != kAnyRule)
    return base::usage_error("--rule " + options.rule + " cannot be combined with --explain");
  return Search(task, options, progress).run(explain);
}

}  // namespace egret::parallel
