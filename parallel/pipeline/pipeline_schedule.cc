// SPDX-License-Identifier: Apache-2.0
#include "parallel/pipeline/pipeline_schedule.h"

#include <algorithm>
#include <deque>

#include "base/check.h"

namespace egret::parallel {
namespace {

using Passes = std::vector<PipelinePass>;

// The pass number INDEX of a rank among those of one direction.
PipelinePass interleaved_pass(PassKind kind, std::int64_t index, std::int64_t rank,
                              const PipelineSchedule& schedule) {
  const std::int64_t group = index / schedule.stages;
  const std::int64_t within = index % schedule.stages;
  std::int64_t chunk = within / schedule.ranks;
  if (kind != PassKind::kForward) chunk = schedule.stages / schedule.ranks - 1 - chunk;
  return {kind, group * schedule.ranks + within % schedule.ranks, chunk * schedule.ranks + rank};
}

Passes one_f_one_b(const PipelineSchedule& schedule, std::int64_t rank) {
  const std::int64_t chunks = schedule.stages / schedule.ranks;
  const std::int64_t passes = schedule.micro_batches * chunks;
  const auto pass = [&](PassKind kind, std::int64_t index) {
    return chunks == 1 ? PipelinePass{kind, index, rank}
                       : interleaved_pass(kind, index, rank, schedule);
  };
  const std::int64_t behind = schedule.ranks - 1 - rank;
  std::int64_t ahead = chunks == 1 ? behind : 2 * behind + (chunks - 1) * schedule.ranks;
  if (schedule.kind == PipelineKind::kGpipe) ahead = passes;
  ahead = std::min(ahead, passes);
  Passes result;
  for (std::int64_t i = 0; i < ahead; ++i) result.push_back(pass(PassKind::kForward, i));
  for (std::int64_t i = 0; i < passes; ++i) {
    if (ahead + i < passes) result.push_back(pass(PassKind::kForward, ahead + i));
    result.push_back(pass(PassKind::kBackward, i));
  }
  return result;
}

Passes zero_bubble(const PipelineSchedule& schedule, std::int64_t rank) {
  const std::int64_t ahead = std::min(schedule.ranks - 1 - rank, schedule.micro_batches);
  Passes result;
  for (std::int64_t i = 0; i < ahead; ++i) result.push_back({PassKind::kForward, i, rank});
  std::int64_t weights = 0;
  for (std::int64_t i = 0; i < schedule.micro_batches; ++i) {
    if (ahead + i < schedule.micro_batches) result.push_back({PassKind::kForward, ahead + i, rank});
    result.push_back({PassKind::kInputs, i, rank});
    if (i >= rank) result.push_back({PassKind::kWeights, weights++, rank});
  }
  while (weights < schedule.micro_batches) result.push_back({PassKind::kWeights, weights++, rank});
  return result;
}

// One rank of DualPipe. "Near" micro-batches enter the pipeline at the end that is nearer to the
// rank, "far" ones at the other end.
class DualPipeRank {
 public:
  DualPipeRank(const PipelineSchedule& schedule, std::int64_t rank)
      : schedule_(schedule), rank_(rank), in_second_half_(rank >= schedule.ranks / 2) {}

  Passes passes() {
    const std::int64_t half = schedule_.ranks / 2;
    const std::int64_t depth = std::min(rank_, schedule_.ranks - 1 - rank_);
    const std::int64_t inner = half - 1 - depth;  // ranks between this one and the middle
    for (std::int64_t i = 0; i < 2 * inner; ++i) forward(kNear);
    for (std::int64_t i = 0; i <= depth; ++i) {
      forward(kNear);
      forward(kFar);
    }
    for (std::int64_t i = 0; i < inner; ++i) {
      inputs(kFar);
      weights();
      forward(kFar);
    }
    const std::int64_t steady = schedule_.micro_batches / 2 - schedule_.ranks + depth + 1;
    for (std::int64_t i = 0; i < steady; ++i) {
      forward(kNear);
      backward(kFar);
      forward(kFar);
      backward(kNear);
    }
    for (std::int64_t i = 0; i < inner; ++i) {
      backward(kFar);
      forward(kFar);
      backward(kNear);
    }
    // The second half of what follows delays the gradients of weights.
    for (std::int64_t i = 0; i < 2 * (depth + 1); ++i) {
      const bool near = i % 2 == 1;
      if (i < depth + 1) {
        backward(near);
      } else {
        inputs(near);
      }
    }
    for (std::int64_t i = 0; i < inner; ++i) {
      weights();
      inputs(kNear);
    }
    while (!delayed_.empty()) weights();
    return std::move(passes_);
  }

 private:
  static constexpr bool kNear = true;
  static constexpr bool kFar = false;

  PipelinePass next(PassKind kind, bool near, std::int64_t (&counts)[2]) {
    const bool reversed = near == in_second_half_;
    const std::int64_t index = counts[static_cast<std::size_t>(reversed)]++;
    return {kind, index + (reversed ? schedule_.micro_batches / 2 : 0),
            reversed ? schedule_.ranks - 1 - rank_ : rank_};
  }
  void forward(bool near) { passes_.push_back(next(PassKind::kForward, near, forwards_)); }
  void backward(bool near) { passes_.push_back(next(PassKind::kBackward, near, backwards_)); }
  void inputs(bool near) {
    passes_.push_back(next(PassKind::kInputs, near, backwards_));
    delayed_.push_back(passes_.back());
  }
  void weights() {
    passes_.push_back(delayed_.front());
    passes_.back().kind = PassKind::kWeights;
    delayed_.pop_front();
  }

  const PipelineSchedule& schedule_;
  std::int64_t rank_;
  bool in_second_half_;
  std::int64_t forwards_[2] = {0, 0}, backwards_[2] = {0, 0};  // by direction
  std::deque<PipelinePass> delayed_;
  Passes passes_;
};

}  // namespace

base::Result<PipelineSchedule> pipeline_schedule(PipelineKind kind, std::int64_t ranks,
                                                 std::int64_t chunks, std::int64_t micro_batches) {
  EGRET_CHECK(ranks > 0 && chunks > 0 && micro_batches > 0, "an empty pipeline");
  EGRET_CHECK(chunks == 1 || kind == PipelineKind::k1F1B, "only 1F1B is interleaved");
  if (chunks > 1 && micro_batches % ranks != 0) {
    return base::usage_error(
        "with several stages of each rank, the number of micro-batches must be a multiple of the "
        "ranks of the pipeline");
  }
  if (kind == PipelineKind::kDualPipe &&
      (ranks % 2 != 0 || micro_batches % 2 != 0 || micro_batches < 2 * ranks)) {
    return base::usage_error(
        "--schedule dualpipe needs even numbers of ranks and micro-batches, and at least twice as "
        "many micro-batches as ranks");
  }
  // Products of numbers from a file.
  const double passes = 2 * static_cast<double>(ranks) * static_cast<double>(chunks) *
                        static_cast<double>(micro_batches);
  if (passes > static_cast<double>(kMostPasses)) {
    return base::limit_hit("the pipeline has more than " + std::to_string(kMostPasses) +
                           " passes; larger micro-batches make fewer");
  }
  PipelineSchedule schedule{kind, ranks, ranks * chunks, micro_batches, {}};
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    schedule.passes.push_back(kind == PipelineKind::kDualPipe
                                  ? DualPipeRank(schedule, rank).passes()
                              : kind == PipelineKind::kZbH1 ? zero_bubble(schedule, rank)
                                                            : one_f_one_b(schedule, rank));
  }
  return schedule;
}

}  // namespace egret::parallel
