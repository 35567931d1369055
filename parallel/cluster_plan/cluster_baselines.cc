// SPDX-License-Identifier: Apache-2.0
#include "parallel/cluster_plan/cluster_baselines.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "base/system/thread_pool.h"

namespace egret::parallel {
namespace {

constexpr std::size_t kMostTried = 4;       // simulations of a baseline's best frames
constexpr std::size_t kMostFrames = 1'000;  // whose layers are divided

constexpr std::array<std::string_view, 9> kRules = {"data",      "zero-1",      "zero-3",
                                                    "megatron",  "megatron-sp", "alpa",
                                                    "galvatron", "gshard",      "deepspeed-moe"};

using Filter = std::function<bool(const PlanFrame&)>;

struct Rule {
  const char* name;
  const char* method;
  Filter groups, frames;  // frames of these groups
  std::optional<Recompute> recompute = std::nullopt;
  PartitionPrice price = PartitionPrice::kBound;
};

bool plain(const PlanFrame& frame) {
  return frame.offload == Offload::kNone && frame.schedule == PipelineKind::k1F1B;
}

bool only_data(const PlanFrame& frame) {
  return frame.tensor == 1 && frame.context == 1 && frame.pipeline == 1;
}

bool whole_experts(const PlanFrame& frame) { return frame.expert_parallel == 1; }

std::vector<std::pair<double, PlanFrame>> frames_of(const FrameSpace& space,
                                                    const PlanTrials& trials, const Rule& rule) {
  std::vector<std::pair<double, PlanFrame>> frames;
  space.visit(rule.groups, [&](const PlanFrame& frame) {
    if (plain(frame) && rule.frames(frame) && trials.can_simulate(frame))
      frames.emplace_back(frame_bound_s(trials.prices(), frame), frame);
  });
  std::sort(frames.begin(), frames.end());
  return frames;
}

class Baseline {
 public:
  Baseline(const FrameSpace& space, const PlanTrials& trials, const Rule& rule)
      : space_(space), trials_(trials), rule_(rule) {}

  PlannedBaseline plan(std::vector<std::pair<double, PlanFrame>> frames) const {
    PlannedBaseline result{.name = rule_.name, .method = rule_.method};
    if (frames.empty()) return result;
    // Where there are many, the least bounds that are not clearly too large for memory.
    std::vector<PlanFrame> candidates;
    for (const auto& [bound, frame] : frames) {
      if (exceeds_memory(trials_.prices(), frame)) continue;
      candidates.push_back(frame);
      if (candidates.size() == kMostFrames) break;
    }
    std::vector<double> prices(candidates.size(), std::numeric_limits<double>::infinity());
    base::shared_pool().parallel_for(
        candidates.size(), 16, [&](std::size_t begin, std::size_t end) {
          for (std::size_t i = begin; i < end && !trials_.stopped(); ++i) {
            if (const auto found = trials_.partition(candidates[i], {}, rule_.price))
              prices[i] = found->bound_s;
          }
        });
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < prices.size(); ++i) {
      if (prices[i] < std::numeric_limits<double>::infinity()) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return prices[a] < prices[b]; });
    for (std::size_t i = 0; i < std::min(order.size(), kMostTried); ++i) {
      if (auto step = trials_.fit(candidates[order[i]], rule_.price)) {
        result.step = std::move(*step);
        result.exists = true;
        return result;  // the rule does not know of the simulation
      }
    }
    return smallest(frames, std::move(result));
  }

 private:
  // Nothing fits: the frame that needs the least memory.
  PlannedBaseline smallest(const std::vector<std::pair<double, PlanFrame>>& frames,
                           PlannedBaseline result) const {
    const StagePrices& prices = trials_.prices();
    const PlanFrame* least = nullptr;
    double bytes = std::numeric_limits<double>::infinity();
    for (const auto& [bound, frame] : frames) {
      const double needed = prices.least_memory(frame, 0, prices.equal_layers(frame));
      if (needed >= bytes) continue;
      bytes = needed;
      least = &frame;
    }
    if (least == nullptr) return result;
    if (auto step = trials_.smallest(*least)) {
      result.step = std::move(*step);
      result.exists = true;
    }
    return result;
  }

  const FrameSpace& space_;
  const PlanTrials& trials_;
  const Rule& rule_;
};

// Megatron's rule: the least product of tensor (up to a node) and pipeline degrees that fits, the
// tensor degree first.
std::vector<std::pair<double, PlanFrame>> least_model_parallelism(
    std::vector<std::pair<double, PlanFrame>> frames, const PlanTrials& trials) {
  const auto degrees = [](const PlanFrame& frame) {
    return std::tuple(frame.pipeline, frame.tensor);
  };
  std::stable_sort(frames.begin(), frames.end(), [&](const auto& a, const auto& b) {
    return degrees(a.second) < degrees(b.second);
  });
  for (std::size_t begin = 0; begin < frames.size() && !trials.stopped();) {
    std::size_t end = begin;
    bool fits = false;
    while (end < frames.size() && degrees(frames[end].second) == degrees(frames[begin].second)) {
      const PlanFrame& frame = frames[end].second;
      fits = fits || (!exceeds_memory(trials.prices(), frame) && trials.partition(frame));
      ++end;
    }
    if (fits) {
      return {frames.begin() + static_cast<std::ptrdiff_t>(begin),
              frames.begin() + static_cast<std::ptrdiff_t>(end)};
    }
    begin = end;
  }
  return frames;
}

// GShard's rule.
std::vector<std::pair<double, PlanFrame>> most_expert_parallelism(
    std::vector<std::pair<double, PlanFrame>> frames) {
  std::int64_t most = 1;
  for (const auto& [bound, frame] : frames) most = std::max(most, frame.expert_parallel);
  std::erase_if(frames, [&](const auto& each) { return each.second.expert_parallel < most; });
  return frames;
}

}  // namespace

std::span<const std::string_view> baseline_rules() { return kRules; }

std::vector<PlannedBaseline> plan_baselines(const FrameSpace& space, const PlanTrials& trials,
                                            base::ProgressSink* sink, std::string_view only) {
  base::Progress progress(sink, "baselines");
  const StagePrices& prices = trials.prices();
  const std::int64_t domain = prices.system().fabric.tiers.front().devices;
  const std::int64_t node = domain > 0 ? std::min(domain, space.devices) : space.devices;
  const auto megatron = [node, &space](const PlanFrame& group) {
    return group.context == 1 && group.tensor <= node &&
           (group.pipeline == 1 || group.tensor == node || space.fixed.tensor) &&
           space.model.layers % group.pipeline == 0 && group.devices() * 2 > space.devices;
  };
  const auto equal_chunks = [&space](const PlanFrame& frame) {
    return space.model.layers % (frame.pipeline * frame.virtual_stages) == 0;
  };
  const auto state = [](const PlanFrame& frame, std::int64_t zero) {
    return frame.zero == (frame.copies() > 1 ? zero : 0);
  };
  const bool has_experts = space.model.experts > 0;
  // Without what came after 2021.
  const auto classic = [has_experts](const PlanFrame& group) {
    return group.context == 1 && group.sequence_parallel == (has_experts && group.tensor > 1);
  };
  const auto copied = [](const PlanFrame& group) {
    return only_data(group) && whole_experts(group);
  };
  std::vector<Rule> rules = {
      {"data", "data parallelism only", copied, [&](const auto& f) { return state(f, 0); }},
      {"zero-1", "data parallelism, optimizer state divided", copied,
       [&](const auto& f) { return state(f, 1); }},
      {"zero-3", "data parallelism, weights, gradients and state divided", copied,
       [&](const auto& f) { return state(f, 3); }},
      {"megatron", "tensor up to a node, then pipeline, full recomputation",
       [&](const auto& f) { return megatron(f) && classic(f); },
       [&](const auto& f) { return equal_chunks(f) && state(f, 0); }, Recompute::kFull},
      {"megatron-sp", "the same with sequence parallelism, distributed optimizer",
       [&](const auto& f) { return megatron(f) && f.sequence_parallel == (f.tensor > 1); },
       [&](const auto& f) { return equal_chunks(f) && state(f, 1); }},
      {"alpa", "tensor, data, pipeline with uneven stages, free transfers, full recomputation",
       classic, [](const auto& f) { return f.virtual_stages == 1 && f.zero <= 1; },
       Recompute::kFull, PartitionPrice::kAlpa},
      {"galvatron", "data, ZeRO-3, tensor, pipeline, recomputation by layer",
       [&](const auto& f) { return classic(f) && whole_experts(f); },
       [](const auto& f) { return f.virtual_stages == 1 && (f.zero == 0 || f.zero == 3); }}};
  // The others are of transformers.
  if (space.model.wide_resnet > 0) rules.erase(rules.begin() + 2, rules.end());
  if (prices.system().pools.size() > 1 && space.model.wide_resnet == 0) {
    rules.push_back(
        {.name = "equal",
         .method = "equal stages of equal degrees, whatever their devices are",
         .groups = classic,
         .frames = [](const auto& f) { return f.virtual_stages == 1 && f.pipeline > 1; },
         .price = PartitionPrice::kEqual});
  }
  if (has_experts) {
    rules.push_back({"gshard", "data parallelism, experts divided among all devices", only_data,
                     [&](const auto& f) { return state(f, 0); }});
    rules.push_back({"deepspeed-moe", "data, tensor, experts; gradients and state divided",
                     [&](const auto& f) { return classic(f) && f.pipeline == 1; },
                     [&](const auto& f) { return state(f, 2); }});
  }
  std::vector<PlannedBaseline> result;
  for (const Rule& rule : rules) {
    if (trials.stopped()) break;
    if (!only.empty() && rule.name != only) continue;
    if (progress.due()) progress.report({{base::kItems, result.size()}}, -1, rule.name);
    FixedChoices fixed = space.fixed;
    if (rule.recompute && !fixed.recompute) fixed.recompute = rule.recompute;
    const StagePrices own(prices.system(), space.model, prices.options(), fixed);
    const PlanTrials of_rule(own, space.devices, trials.deadline());
    auto frames = frames_of({space.model, space.devices, fixed}, of_rule, rule);
    if (std::string(rule.name).starts_with("megatron"))
      frames = least_model_parallelism(std::move(frames), of_rule);
    if (std::string(rule.name) == "gshard") frames = most_expert_parallelism(std::move(frames));
    result.push_back(Baseline(space, of_rule, rule).plan(std::move(frames)));
  }
  return result;
}

}  // namespace egret::parallel
