// SPDX-License-Identifier: Apache-2.0
#include "parallel/offload/offload_planner.h"

#include <algorithm>
#include <functional>

#include "base/formats/units.h"
#include "base/stop.h"
#include "base/timer.h"
#include "parallel/offload/offload_rules.h"
#include "parallel/offload/placement_program.h"
#include "parallel/transformer/number_list.h"

namespace egret::parallel {
namespace {

constexpr std::array<std::int64_t, 21> kBatchSizes = {
    1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 160, 192, 256, 512};
constexpr std::array<std::int64_t, 13> kBatchCounts = {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32};
constexpr std::int64_t kMostMoves = 40;  // of the improvement
constexpr int kMostRounds = 12;          // of blocks beside the best one

struct Candidate {
  BlockChoice choice;
  double quick_tokens_per_s = 0;  // at most, in closed form
  double tokens_per_s = 0;        // at most, by the linear program
  PlacementAnswer answer{};
};

std::optional<std::array<double, 3>> given_parts(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto numbers = *numbers_of(text);
  std::array<double, 3> parts;
  for (std::size_t p = 0; p < 3; ++p) parts[p] = static_cast<double>(numbers[p]) / 100;
  return parts;
}

class OffloadPlanner {
 public:
  OffloadPlanner(const HostedSystem& system, const GenerationSetup& setup,
                 const OffloadOptions& options, PlacementProgram program,
                 base::ProgressSink* progress)
      : system_(system),
        setup_(setup),
        options_(options),
        program_(program),
        has_disk_(system.host->disk_bytes > 0),
        given_{given_parts(setup.weights_on),
               given_parts(setup.cache_on),
               given_parts(setup.activations_on),
               {}},
        progress_(progress, "plan") {}

  base::Result<OffloadPlan> plan(bool explain) {
    const base::Stopwatch watch;
    plan_.setup = setup_;
    if (!fixes_anything()) EGRET_RETURN_IF_ERROR(unless_stopped(add_rules()));
    EGRET_RETURN_IF_ERROR(unless_stopped(add_candidates()));
    EGRET_RETURN_IF_ERROR(unless_stopped(simulate_candidates()));
    if (found_.empty()) {
      if (base::stop_requested()) return base::limit_hit("interrupted before a policy was found");
      return base::limit_hit("no policy fits into the memory of " + system_.name);
    }
    EGRET_RETURN_IF_ERROR(unless_stopped(refine_block()));
    EGRET_RETURN_IF_ERROR(unless_stopped(improve()));
    rank();
    if (explain) EGRET_RETURN_IF_ERROR(unless_stopped(find_runners_up()));
    if (base::stop_requested()) plan_.stop_reason = "signal";
    for (const Candidate& one : candidates_)
      plan_.bound_tokens_per_s = std::max(plan_.bound_tokens_per_s, one.tokens_per_s);
    plan_.bound_tokens_per_s = std::max(plan_.bound_tokens_per_s, plan_.best.tokens_per_s);
    plan_.seconds = watch.seconds();
    return std::move(plan_);
  }

 private:
  // What is unfinished does not matter where a policy was found before.
  base::Status unless_stopped(base::Status status) const {
    return base::stop_requested() && !found_.empty() ? base::ok() : std::move(status);
  }

  // Rules are in the pool unless a choice is given.
  bool fixes_anything() const {
    return setup_.gpu_batch > 0 || setup_.gpu_batches > 0 || given_.weights || given_.cache ||
           given_.activations || setup_.cpu_attention != CpuAttention::kSearch;
  }

  double tokens() const { return static_cast<double>(setup_.output_tokens); }
  double rate(const BlockChoice& choice, double seconds) const {
    return static_cast<double>(choice.sequences()) * tokens() / seconds;
  }
  double incumbent() const { return found_.empty() ? 0 : best().tokens_per_s; }
  const OffloadPolicy& best() const {
    return *std::ranges::max_element(found_, {}, &OffloadPolicy::tokens_per_s);
  }

  base::Result<OffloadPolicy> simulated(const BlockCosts& costs, const BlockChoice& choice,
                                        WholePlacement placement) {
    OffloadPolicy policy{.choice = choice, .placement = std::move(placement)};
    policy.priced_s = priced_s(costs, policy.placement);
    for (const Place place : kPlaces) {
      policy.peak_bytes[static_cast<std::size_t>(place)] =
          peak_bytes(costs, policy.placement, place);
    }
    EGRET_ASSIGN_OR_RETURN(const GenerationTrace trace,
                           simulate_generation(system_, setup_, choice, policy.placement));
    ++plan_.counts.simulations;
    policy.run = trace.run;
    policy.tokens_per_s = rate(choice, policy.run.seconds);
    if (progress_.due())
      progress_.report({{base::kItems, static_cast<double>(plan_.counts.simulations)}});
    return policy;
  }

  base::Status add_rules() {
    for (const RuleRow& row : offload_rules()) {
      OffloadRule rule{std::string(row.name), std::string(row.method), std::nullopt};
      std::optional<RuleCandidate> chosen;
      double best_rate = 0;
      for (const std::int64_t batch : kBatchSizes) {
        bool any = false;
        for (RuleCandidate& one : row.candidates(system_, setup_, batch)) {
          const BlockCosts costs = block_costs(system_, setup_, one.choice);
          if (!fits(costs, one.placement)) continue;
          any = true;
          const double value = rate(one.choice, priced_s(costs, one.placement));
          if (value <= best_rate) continue;
          best_rate = value;
          chosen = std::move(one);
        }
        if (!any) break;
      }
      if (chosen) {
        const BlockCosts costs = block_costs(system_, setup_, chosen->choice);
        EGRET_ASSIGN_OR_RETURN(rule.policy, simulated(costs, chosen->choice, chosen->placement));
        found_.push_back(*rule.policy);
      }
      plan_.rules.push_back(std::move(rule));
    }
    return base::ok();
  }

  // At most, if all weights for which there is room are on the accelerator and nothing else moves.
  double quick_rate(const BlockCosts& costs, const BlockChoice& choice) const {
    const BlockSizes sizes(setup_);
    const double all = static_cast<double>(setup_.layers) * sizes.layer_bytes + sizes.head_bytes;
    const double room = system_.accelerator.memory_bytes - system_.accelerator.reserved_bytes;
    const double load_s = std::max(0.0, all - room) / system_.host->to_device_bytes_per_second;
    const double prefill_s = std::max(load_s, costs.prefill(Resource::kDevice).constant);
    const double decode_s = std::max(load_s, costs.decode(Resource::kDevice).constant);
    return rate(choice, prefill_s + costs.decode_steps * decode_s);
  }

  base::Status add_candidates() {
    std::vector<Candidate> all;
    for (const std::int64_t batch : values(setup_.gpu_batch, kBatchSizes)) {
      for (const std::int64_t batches : values(setup_.gpu_batches, kBatchCounts)) {
        for (const bool cores : {false, true}) {
          if (!is_allowed({batch, batches, cores})) continue;
          Candidate one;
          one.choice = {batch, batches, cores};
          const BlockCosts costs = block_costs(system_, setup_, one.choice);
          one.quick_tokens_per_s = quick_rate(costs, one.choice);
          all.push_back(one);
        }
      }
    }
    plan_.counts.choices = static_cast<std::int64_t>(all.size());
    std::ranges::stable_sort(all, std::greater<>(), &Candidate::quick_tokens_per_s);
    for (Candidate& one : all) {
      if (base::stop_requested()) {
        // All that follow have less.
        plan_.bound_tokens_per_s = one.quick_tokens_per_s;
        plan_.stop_reason = "signal";
        break;
      }
      if (one.quick_tokens_per_s <= incumbent()) break;
      if (is_hopeless(one.choice)) continue;
      const BlockCosts costs = block_costs(system_, setup_, one.choice);
      ++plan_.counts.programs;
      EGRET_ASSIGN_OR_RETURN(const auto answer, program_.solve(costs, given_, has_disk_, true));
      if (!answer) {
        too_large_.push_back(one.choice);
        continue;
      }
      one.answer = *answer;
      one.tokens_per_s = rate(one.choice, answer->least_s);
      if (one.tokens_per_s > incumbent()) candidates_.push_back(one);
    }
    std::ranges::stable_sort(candidates_, std::greater<>(), &Candidate::tokens_per_s);
    return base::ok();
  }

  // A block that is at least as large as one that does not fit.
  bool is_hopeless(const BlockChoice& choice) const {
    return std::ranges::any_of(too_large_, [&](const BlockChoice& one) {
      return one.cpu_attention == choice.cpu_attention && one.batch <= choice.batch &&
             one.batches <= choice.batches;
    });
  }

  template <std::size_t N>
  static std::vector<std::int64_t> values(std::int64_t given,
                                          const std::array<std::int64_t, N>& all) {
    if (given > 0) return {given};
    return {all.begin(), all.end()};
  }

  base::Result<std::optional<OffloadPolicy>> tried(const Candidate& one, const GivenParts& given) {
    const BlockCosts costs = block_costs(system_, setup_, one.choice);
    ++plan_.counts.programs;
    EGRET_ASSIGN_OR_RETURN(const auto answer, program_.solve(costs, given, has_disk_));
    if (!answer) return std::optional<OffloadPolicy>();
    auto placement = round_placement(
        costs, setup_, one.choice, answer->fractions, has_disk_,
        !given.weights && !given.forbidden[index_of(Value::kWeights, Place::kDevice)] &&
            !given.forbidden[index_of(Value::kWeights, Place::kHost)]);
    if (!placement) return std::optional<OffloadPolicy>();
    BlockChoice choice = one.choice;
    // Without caches elsewhere, the cores have nothing to attend to.
    if (placement->cache[0] == choice.sequences() && setup_.cpu_attention == CpuAttention::kSearch)
      choice.cpu_attention = false;
    EGRET_ASSIGN_OR_RETURN(OffloadPolicy policy, simulated(block_costs(system_, setup_, choice),
                                                           choice, *std::move(placement)));
    policy.bound_s = answer->least_s;
    return std::optional(std::move(policy));
  }

  base::Status simulate_candidates() {
    plan_.stop_reason = "bound";
    for (const Candidate& one : candidates_) {
      if (one.tokens_per_s <= incumbent()) break;
      if (base::stop_requested() && !found_.empty()) {
        plan_.stop_reason = "signal";
        break;
      }
      if (plan_.counts.simulations >= options_.limit_simulations && !found_.empty()) {
        plan_.stop_reason = "simulations";
        break;
      }
      EGRET_ASSIGN_OR_RETURN(auto policy, tried(one, given_));
      if (policy) found_.push_back(*std::move(policy));
    }
    return base::ok();
  }

  static bool is_same(const WholePlacement& a, const WholePlacement& b) {
    return a.layers == b.layers && a.cache == b.cache && a.activations == b.activations;
  }

  // Blocks beside the best one that the lists leave out.
  base::Status refine_block() {
    if (setup_.gpu_batch > 0 && setup_.gpu_batches > 0) return base::ok();
    for (int round = 0; round < kMostRounds; ++round) {
      const OffloadPolicy start = best();
      if (!start.choice.overlaps) return base::ok();
      for (const auto& [batch, batches] : beside(start.choice)) {
        for (const bool cores : {false, true}) {
          Candidate one;
          one.choice = {batch, batches, cores};
          if (!is_allowed(one.choice) || is_known(one.choice)) continue;
          if (base::stop_requested()) return base::ok();
          const BlockCosts costs = block_costs(system_, setup_, one.choice);
          ++plan_.counts.programs;
          EGRET_ASSIGN_OR_RETURN(const auto answer, program_.solve(costs, given_, has_disk_, true));
          one.tokens_per_s = answer ? rate(one.choice, answer->least_s) : 0;
          candidates_.push_back(one);
          if (one.tokens_per_s <= incumbent()) continue;
          EGRET_ASSIGN_OR_RETURN(auto policy, tried(one, given_));
          if (policy) found_.push_back(*std::move(policy));
        }
      }
      if (best().tokens_per_s <= start.tokens_per_s) break;
    }
    return base::ok();
  }

  std::vector<std::pair<std::int64_t, std::int64_t>> beside(const BlockChoice& choice) const {
    std::vector<std::pair<std::int64_t, std::int64_t>> all;
    const std::int64_t step = std::max<std::int64_t>(1, choice.batch / 16);
    for (const std::int64_t batch : {choice.batch - 2 * step, choice.batch - step, choice.batch,
                                     choice.batch + step, choice.batch + 2 * step}) {
      if (batch < 1 || (setup_.gpu_batch > 0 && batch != setup_.gpu_batch)) continue;
      for (const std::int64_t batches : {choice.batches - 1, choice.batches, choice.batches + 1}) {
        if (batches < 1 || (setup_.gpu_batches > 0 && batches != setup_.gpu_batches)) continue;
        all.emplace_back(batch, batches);
      }
    }
    return all;
  }

  bool is_known(const BlockChoice& choice) const {
    return std::ranges::any_of(candidates_,
                               [&](const Candidate& one) { return one.choice == choice; });
  }

  bool is_allowed(const BlockChoice& choice) const {
    if (choice.cpu_attention)
      return setup_.cpu_attention != CpuAttention::kOff && !setup_.compresses_cache();
    return setup_.cpu_attention != CpuAttention::kOn;
  }

  // Moves parts of one value of the best policy from one place to another, in halving steps.
  base::Status improve() {
    if (given_.weights && given_.cache && given_.activations) return base::ok();
    std::int64_t moves = 0;
    for (double step = 0.1; step > 0.01; step /= 2) {
      bool improved = true;
      while (improved && moves < kMostMoves) {
        improved = false;
        const OffloadPolicy start = best();
        if (!start.choice.overlaps) return base::ok();
        const BlockCosts costs = block_costs(system_, setup_, start.choice);
        const Fractions fractions = start.placement.fractions();
        for (const Value value : kValues) {
          if (given_.of(value)) continue;
          for (const Place from : kPlaces) {
            for (const Place to : kPlaces) {
              const double part = fractions.at(value, from);
              if (from == to || part <= 0 || (to == Place::kDisk && !has_disk_)) continue;
              if (base::stop_requested() || ++moves > kMostMoves) return base::ok();
              Fractions moved = fractions;
              moved.at(value, from) -= std::min(part, step);
              moved.at(value, to) += std::min(part, step);
              auto placement = round_placement(costs, setup_, start.choice, moved, has_disk_);
              if (!placement || is_same(*placement, start.placement)) continue;
              if (rate(start.choice, priced_s(costs, *placement)) < incumbent() * 0.98) continue;
              EGRET_ASSIGN_OR_RETURN(OffloadPolicy policy,
                                     simulated(costs, start.choice, *std::move(placement)));
              if (policy.tokens_per_s <= incumbent() * (1 + 1e-6)) continue;
              policy.bound_s = start.bound_s;
              found_.push_back(std::move(policy));
              improved = true;
            }
          }
        }
      }
    }
    return base::ok();
  }

  // Of each choice the best policy, from the best.
  void rank() {
    std::ranges::stable_sort(found_, std::greater<>(), &OffloadPolicy::tokens_per_s);
    plan_.best = found_.front();
    for (const OffloadPolicy& one : found_) {
      if (static_cast<std::int64_t>(plan_.ranking.size()) == options_.policies) break;
      const bool known = std::ranges::any_of(
          plan_.ranking, [&](const OffloadPolicy& other) { return other.choice == one.choice; });
      if (!known) plan_.ranking.push_back(one);
    }
  }

  base::Status find_runners_up() {
    const OffloadPolicy best = plan_.best;
    const auto add_block = [&](const char* name, auto&& value_of) -> base::Status {
      std::optional<OffloadPolicy> runner_up;
      const auto offer = [&](const OffloadPolicy& policy) {
        if (value_of(policy.choice) == value_of(best.choice)) return;
        if (!runner_up || policy.tokens_per_s > runner_up->tokens_per_s) runner_up = policy;
      };
      for (const OffloadPolicy& one : found_) offer(one);
      EGRET_ASSIGN_OR_RETURN(const std::vector<Candidate> others,
                             neighbours(best.choice, [&](const BlockChoice& one) {
                               return value_of(one) != value_of(best.choice);
                             }));
      for (const Candidate& one : others) {
        EGRET_ASSIGN_OR_RETURN(const auto policy, tried(one, given_));
        if (policy) offer(*policy);
      }
      if (runner_up) {
        plan_.runners_up.push_back({name, text_of(value_of(best.choice)),
                                    text_of(value_of(runner_up->choice)), *runner_up});
      }
      return base::ok();
    };
    EGRET_RETURN_IF_ERROR(add_block("gpu-batch", [](const BlockChoice& c) { return c.batch; }));
    EGRET_RETURN_IF_ERROR(add_block("gpu-batches", [](const BlockChoice& c) { return c.batches; }));
    EGRET_RETURN_IF_ERROR(
        add_block("cpu-attention", [](const BlockChoice& c) { return c.cpu_attention; }));
    for (const Value value : kValues) {
      if (given_.of(value)) continue;
      EGRET_RETURN_IF_ERROR(add_place(value));
    }
    return base::ok();
  }

  static std::string text_of(std::int64_t value) { return std::to_string(value); }
  static std::string text_of(bool value) { return value ? "on" : "off"; }

  // Blocks that are the best one but for one choice, the best by their bounds.
  template <typename Differs>
  base::Result<std::vector<Candidate>> neighbours(const BlockChoice& best, Differs&& differs) {
    std::vector<Candidate> others;
    for (const std::int64_t batch : values(setup_.gpu_batch, kBatchSizes)) {
      for (const std::int64_t batches : values(setup_.gpu_batches, kBatchCounts)) {
        for (const bool cores : {false, true}) {
          const BlockChoice one{batch, batches, cores};
          const int changes = (batch != best.batch ? 1 : 0) + (batches != best.batches ? 1 : 0) +
                              (cores != best.cpu_attention ? 1 : 0);
          if (changes != 1 || !differs(one)) continue;
          if (!is_allowed({batch, batches, cores})) continue;
          Candidate candidate;
          candidate.choice = one;
          const BlockCosts costs = block_costs(system_, setup_, one);
          ++plan_.counts.programs;
          EGRET_ASSIGN_OR_RETURN(const auto answer, program_.solve(costs, given_, has_disk_, true));
          if (!answer) continue;
          candidate.tokens_per_s = rate(one, answer->least_s);
          others.push_back(candidate);
        }
      }
    }
    std::ranges::stable_sort(others, std::greater<>(), &Candidate::tokens_per_s);
    if (others.size() > 2) others.resize(2);
    return others;
  }

  // Without the place that has most of a value.
  base::Status add_place(Value value) {
    const Fractions fractions = plan_.best.placement.fractions();
    const Place most = *std::ranges::max_element(
        kPlaces, {}, [&](Place place) { return fractions.at(value, place); });
    GivenParts given = given_;
    given.forbidden[index_of(value, most)] = true;
    Candidate one;
    one.choice = plan_.best.choice;
    one.choice.overlaps = true;
    EGRET_ASSIGN_OR_RETURN(const auto policy, tried(one, given));
    if (!policy) return base::ok();
    plan_.runners_up.push_back({std::string(kValueNames[static_cast<std::size_t>(value)]),
                                places_text(fractions, value),
                                places_text(policy->placement.fractions(), value), *policy});
    return base::ok();
  }

  const HostedSystem& system_;
  const GenerationSetup& setup_;
  const OffloadOptions& options_;
  PlacementProgram program_;
  const bool has_disk_;
  const GivenParts given_;
  base::Progress progress_;
  OffloadPlan plan_;
  std::vector<Candidate> candidates_;
  std::vector<OffloadPolicy> found_;
  std::vector<BlockChoice> too_large_;
};

}  // namespace

const base::OptionTable<OffloadOptions>& OffloadOptions::table() {
  using O = OffloadOptions;
  static const base::OptionTable<O> rows{
      "offload-search",
      {{"plans", &O::policies, "Plans of a transformer to list", base::range(1, 1000)},
       {"limit-simulations", &O::limit_simulations,
        "Stop a transformer's plan after so many simulated steps", base::range(1, 1e6)}}};
  return rows;
}

Resource OffloadPolicy::busiest(bool decoding) const {
  const auto& busy = decoding ? run.decode_busy_s : run.prefill_busy_s;
  return static_cast<Resource>(std::ranges::max_element(busy) - busy.begin());
}

std::string to_string(const BlockChoice& choice) {
  return "batch " + std::to_string(choice.batch) +
         (choice.batches > 1 ? " x " + std::to_string(choice.batches) : "") +
         (choice.cpu_attention ? ", attention on the cores" : "") +
         (choice.overlaps ? "" : ", loads without overlap");
}

std::string places_text(const Fractions& fractions, Value value) {
  std::string text;
  for (const Place place : kPlaces) {
    const double part = fractions.at(value, place);
    if (part <= 0) continue;
    text += (text.empty() ? "" : ", ") + base::format_percent(part) + " " +
            std::string(kPlaceNames[static_cast<std::size_t>(place)]);
  }
  return text;
}

base::Result<OffloadPlan> plan_offload(const HostedSystem& system, const GenerationSetup& setup,
                                       const OffloadOptions& options, bool explain,
                                       base::ProgressSink* progress) {
  EGRET_RETURN_IF_ERROR(setup.check());
  if (setup.experts > 0) return base::usage_error("plan_offload() is for dense layers");
  if (!system.host) {
    return base::usage_error("the machine '" + system.name +
                             "' has no [host]: its memory and its link to the accelerator");
  }
  EGRET_ASSIGN_OR_RETURN(const PlacementProgram program, PlacementProgram::make());
  return OffloadPlanner(system, setup, options, program, progress).plan(explain);
}

}  // namespace egret::parallel
