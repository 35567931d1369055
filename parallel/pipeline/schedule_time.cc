// SPDX-License-Identifier: Apache-2.0
#include "parallel/pipeline/schedule_time.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace egret::parallel {
namespace {

constexpr double kNotYet = std::numeric_limits<double>::infinity();

bool is_forward(const PipelinePass& pass) { return pass.kind == PassKind::kForward; }

// The ends of what other passes read: forward passes, and gradients of inputs.
class Results {
 public:
  explicit Results(const PipelineSchedule& schedule)
      : schedule_(schedule),
        ends_(static_cast<std::size_t>(2 * schedule.stages * schedule.micro_batches), kNotYet) {}

  double& end(bool forward, std::int64_t stage, std::int64_t micro_batch) {
    return ends_[static_cast<std::size_t>(
        ((forward ? 0 : schedule_.stages) + stage) * schedule_.micro_batches + micro_batch)];
  }
  // When the message that a pass reads arrives.
  double ready(const PipelinePass& pass) {
    if (pass.kind == PassKind::kWeights) return 0;
    if (is_forward(pass)) return pass.stage == 0 ? 0 : end(true, pass.stage - 1, pass.micro_batch);
    return pass.stage + 1 == schedule_.stages ? 0 : end(false, pass.stage + 1, pass.micro_batch);
  }
  void set(const PipelinePass& pass, double time) {
    if (pass.kind != PassKind::kWeights) end(is_forward(pass), pass.stage, pass.micro_batch) = time;
  }

 private:
  const PipelineSchedule& schedule_;
  std::vector<double> ends_;
};

}  // namespace

std::vector<double> schedule_ends_s(const PipelineSchedule& schedule,
                                    const std::function<double(const PipelinePass&)>& pass_s) {
  Results results(schedule);
  const std::size_t ranks = schedule.passes.size();
  std::vector<double> ends(ranks, 0);
  std::vector<std::size_t> next(ranks, 0);
  // Ranks run until they wait for a message; whoever sends it wakes them.
  std::vector<std::size_t> awake(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) awake[rank] = rank;
  std::vector<bool> waits(ranks, false);
  while (!awake.empty()) {
    const std::size_t rank = awake.back();
    awake.pop_back();
    const std::vector<PipelinePass>& passes = schedule.passes[rank];
    waits[rank] = false;
    while (next[rank] < passes.size()) {
      const PipelinePass& pass = passes[next[rank]];
      const double ready = results.ready(pass);
      if (ready == kNotYet) {
        waits[rank] = true;
        break;
      }
      ends[rank] = std::max(ends[rank], ready) + pass_s(pass);
      results.set(pass, ends[rank]);
      ++next[rank];
      const std::int64_t to = pass.stage + (is_forward(pass) ? 1 : -1);
      if (pass.kind == PassKind::kWeights || to < 0 || to >= schedule.stages) continue;
      const auto receiver = static_cast<std::size_t>(schedule.rank_of(to, pass.micro_batch));
      if (!waits[receiver]) continue;
      waits[receiver] = false;
      awake.push_back(receiver);
    }
  }
  for (std::size_t rank = 0; rank < ranks; ++rank)
    EGRET_CHECK(next[rank] == schedule.passes[rank].size(), "passes wait for each other");
  return ends;
}

double schedule_kept_bytes(const PipelineSchedule& schedule, std::int64_t rank,
                           const std::vector<double>& stage_bytes, PassKind frees) {
  double now = 0, most = 0;
  for (const PipelinePass& pass : schedule.passes[static_cast<std::size_t>(rank)]) {
    const double bytes = stage_bytes[static_cast<std::size_t>(pass.stage)];
    if (is_forward(pass)) {
      now += bytes;
    } else if (pass.kind == PassKind::kBackward || pass.kind == frees) {
      now -= bytes;
    }
    most = std::max(most, now);
  }
  return most;
}

}  // namespace egret::parallel
