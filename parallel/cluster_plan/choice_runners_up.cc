// SPDX-License-Identifier: Apache-2.0
#include "parallel/cluster_plan/choice_runners_up.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "base/system/thread_pool.h"

namespace egret::parallel {
namespace {

constexpr std::size_t kFrames = 48;  // of the least bounds, whose layers are divided
constexpr std::size_t kTried = 6;    // of them, simulated

struct Choice {
  const char* name;
  std::function<std::string(const PlanFrame&)> value;
};

std::string schedule_name(const PlanFrame& frame) { return std::string(name_of(frame.schedule)); }

std::string offload_name(const PlanFrame& frame) { return std::string(name_of(frame.offload)); }

// A degree, or those of all stages.
std::function<std::string(const PlanFrame&)> degree(std::int64_t PlanFrame::*same,
                                                    std::int64_t StageDegrees::*own) {
  return [same, own](const PlanFrame& frame) { return degree_text(frame, same, own); };
}

const std::vector<Choice>& choices() {
  static const std::vector<Choice> rows = {
      {"stages",
       [](const PlanFrame& f) {
         return std::string(f.stages.empty() ? "equal degrees" : "degrees of their own");
       }},
      {"tp", degree(&PlanFrame::tensor, &StageDegrees::tensor)},
      {"pp", [](const PlanFrame& f) { return std::to_string(f.pipeline); }},
      {"dp", degree(&PlanFrame::data, &StageDegrees::data)},
      {"cp", degree(&PlanFrame::context, &StageDegrees::context)},
      {"vpp", [](const PlanFrame& f) { return std::to_string(f.virtual_stages); }},
      {"micro-batch", [](const PlanFrame& f) { return std::to_string(f.micro_batch); }},
      {"schedule", schedule_name},
      {"sequence-parallel",
       [](const PlanFrame& f) { return std::string(f.sequence_parallel ? "true" : "false"); }},
      {"zero", [](const PlanFrame& f) { return std::to_string(f.zero); }},
      {"offload", offload_name},
      {"ep", [](const PlanFrame& f) { return std::to_string(f.expert_parallel); }},
      {"expert-tp", [](const PlanFrame& f) { return std::to_string(f.expert_tensor); }}};
  return rows;
}

class RunnersUp {
 public:
  RunnersUp(const FrameSpace& space, const PlanTrials& trials, const PlannedStep& best,
            const std::vector<PlannedStep>& pool)
      : space_(space), trials_(trials), best_(best), pool_(pool) {}

  // Frames with another value, by their bounds; one walk through the space serves all choices.
  std::vector<ChoiceRunnerUp> by_frames(base::Progress& progress) {
    const StagePrices& prices = trials_.prices();
    std::vector<std::vector<std::pair<double, PlanFrame>>> kept(choices().size());
    std::vector<std::string> values;
    for (const Choice& choice : choices()) values.push_back(choice.value(best_.frame));
    const auto worst = [&](std::size_t i) {
      return kept[i].size() < kFrames ? std::numeric_limits<double>::infinity()
                                      : kept[i].back().first;
    };
    space_.visit(
        [&](const PlanFrame& group) {
          double least = 0;
          for (std::size_t i = 0; i < kept.size(); ++i) least = std::max(least, worst(i));
          return group_bound_s(prices, group) < least;
        },
        [&](const PlanFrame& frame) {
          if (exceeds_memory(prices, frame) || !trials_.can_simulate(frame)) return;
          const double bound = frame_bound_s(prices, frame);
          for (std::size_t i = 0; i < kept.size(); ++i) {
            if (bound >= worst(i) || choices()[i].value(frame) == values[i]) continue;
            const std::pair one(bound, frame);
            kept[i].insert(std::ranges::lower_bound(kept[i], one), one);
            if (kept[i].size() > kFrames) kept[i].pop_back();
          }
        });
    // A plan that is simulated for one choice may be the best one of another.
    for (std::size_t i = 0; i < kept.size() && !trials_.stopped(); ++i) {
      if (progress.due()) progress.report({{base::kItems, i}}, -1, choices()[i].name);
      simulate(kept[i]);
    }
    std::vector<ChoiceRunnerUp> result;
    for (std::size_t i = 0; i < choices().size(); ++i) {
      const PlannedStep* least = nullptr;
      for (const PlannedStep& each : pool_) {
        if (each.fits() && choices()[i].value(each.frame) != values[i] &&
            (least == nullptr || better(each, *least)))
          least = &each;
      }
      if (least == nullptr) continue;
      result.push_back({choices()[i].name, values[i], choices()[i].value(least->frame), *least});
    }
    return result;
  }

  // The same frame with other layers.
  void by_layers(std::vector<ChoiceRunnerUp>& result) const {
    const StagePrices& prices = trials_.prices();
    const TrainingSetup setup = prices.setup_of(best_.frame);
    const std::vector<std::int64_t> equal = setup.layers_of_chunks();
    std::vector<std::int64_t> counts;
    ChunkLayers sum;
    for (const ChunkLayers& chunk : best_.chunks) {
      counts.push_back(chunk.all());
      sum.kept += chunk.kept;
      sum.selective += chunk.selective;
      sum.full += chunk.full;
    }
    if (counts != equal) {
      std::vector<ChunkLayers> chunks;
      for (std::size_t i = 0; i < equal.size(); ++i) {
        chunks.push_back(best_.chunks[i]);
        chunks.back().kept += equal[i] - counts[i];
        if (chunks.back().kept < 0) {
          chunks.back().full += chunks.back().kept;
          chunks.back().kept = 0;
        }
      }
      add(result, "layers", "uneven", "equal", chunks);
    }
    const std::string value =
        std::to_string(sum.full) + " full, " + std::to_string(sum.selective) + " selective";
    for (const auto& [name, recompute] : {std::pair("none", Recompute::kNone),
                                          {"selective", Recompute::kSelective},
                                          {"full", Recompute::kFull}}) {
      if (!prices.allows(recompute)) continue;
      std::vector<ChunkLayers> chunks;
      for (const std::int64_t count : counts) {
        chunks.push_back({recompute == Recompute::kNone ? count : 0,
                          recompute == Recompute::kSelective ? count : 0,
                          recompute == Recompute::kFull ? count : 0});
      }
      if (chunks != best_.chunks) add(result, "recompute", value, name, chunks);
    }
  }

 private:
  void add(std::vector<ChoiceRunnerUp>& result, const char* choice, const std::string& value,
           const char* other, const std::vector<ChunkLayers>& chunks) const {
    if (const auto step = trials_.simulate(best_.frame, chunks))
      result.push_back({choice, value, other, *step});
  }

  // Those with the least bounds of their divided layers, into the pool.
  void simulate(const std::vector<std::pair<double, PlanFrame>>& frames) {
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t i = 0; i < frames.size() && !trials_.stopped(); ++i) {
      const bool known =
          std::ranges::find(pool_, frames[i].second, &PlannedStep::frame) != pool_.end();
      if (known) continue;
      if (const auto found = trials_.partition(frames[i].second))
        order.emplace_back(found->bound_s, i);
    }
    std::ranges::sort(order);
    const std::size_t count = std::min(order.size(), kTried);
    std::vector<std::optional<PlannedStep>> steps(count);
    base::shared_pool().parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        steps[i] = trials_.fit(frames[order[i].second].second);
    });
    for (const auto& step : steps) {
      if (step) pool_.push_back(*step);
    }
  }

  const FrameSpace& space_;
  const PlanTrials& trials_;
  const PlannedStep& best_;
  std::vector<PlannedStep> pool_;
};

}  // namespace

std::vector<ChoiceRunnerUp> choice_runners_up(const FrameSpace& space, const PlanTrials& trials,
                                              const PlannedStep& best,
                                              const std::vector<PlannedStep>& pool,
                                              base::ProgressSink* sink) {
  base::Progress progress(sink, "runners-up");
  RunnersUp search(space, trials, best, pool);
  std::vector<ChoiceRunnerUp> result = search.by_frames(progress);
  if (!trials.stopped()) search.by_layers(result);
  return result;
}

}  // namespace egret::parallel
