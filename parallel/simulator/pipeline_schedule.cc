// SPDX-License-Identifier: Apache-2.0
#include "parallel/simulator/pipeline_schedule.h"

#include <algorithm>

#include "base/check.h"

namespace egret::parallel {
namespace {

// The pass number INDEX of a rank among those of one direction.
PipelinePass pass_of(bool forward, std::int64_t index, std::int64_t ranks, std::int64_t chunks) {
  const std::int64_t group = index / (ranks * chunks);
  const std::int64_t within = index % (ranks * chunks);
  const std::int64_t chunk = within / ranks;
  return {forward, group * ranks + within % ranks, forward ? chunk : chunks - 1 - chunk};
}

}  // namespace

std::vector<std::vector<PipelinePass>> pipeline_schedule(PipelineKind kind, std::int64_t ranks,
                                                         std::int64_t chunks,
                                                         std::int64_t micro_batches) {
  EGRET_CHECK(chunks == 1 || micro_batches % ranks == 0, "the interleaved schedule needs groups");
  const std::int64_t passes = micro_batches * chunks;
  const auto pass = [&](bool forward, std::int64_t index) {
    return chunks == 1 ? PipelinePass{forward, index, 0} : pass_of(forward, index, ranks, chunks);
  };
  std::vector<std::vector<PipelinePass>> result(static_cast<std::size_t>(ranks));
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    const std::int64_t behind = ranks - 1 - rank;
    std::int64_t ahead = chunks == 1 ? behind : 2 * behind + (chunks - 1) * ranks;
    if (kind == PipelineKind::kGpipe) ahead = passes;
    ahead = std::min(ahead, passes);
    auto& own = result[static_cast<std::size_t>(rank)];
    for (std::int64_t i = 0; i < ahead; ++i) own.push_back(pass(true, i));
    for (std::int64_t i = 0; i < passes - ahead; ++i) {
      own.push_back(pass(true, ahead + i));
      own.push_back(pass(false, i));
    }
    for (std::int64_t i = passes - ahead; i < passes; ++i) own.push_back(pass(false, i));
  }
  return result;
}

}  // namespace egret::parallel
