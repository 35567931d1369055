// SPDX-License-Identifier: Apache-2.0
// Cuts runs of matches into blocks whose boundaries do not depend on the ends of the runs. The ends
// of runs depend on which thread found which match; the grouping of applied matches must not.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "egraph/search/match_buffer.h"
#include "egraph/search/match_list.h"

namespace egret::egraph {

class MatchBlocks {
 public:
  // All runs are of one pattern and none is empty. They must outlive the object.
  explicit MatchBlocks(std::span<const MatchRun> runs) : runs_(runs) {}

  bool empty() const { return runs_.empty(); }

  // `count` rows, from `begin` on; valid until the next call of next().
  struct Block {
    const MatchBuffer& rows;
    std::size_t begin;
    std::size_t count;
  };
  // The next `most` rows, or the remaining ones. Requires !empty().
  Block next(std::size_t most) {
    const MatchRun& front = runs_.front();
    const std::size_t left = front.count - used_;
    if (runs_.size() > 1 && left < most) return seam(most);
    const Block block{*front.rows, front.begin + used_, std::min(most, left)};
    advance(block.count);
    return block;
  }

 private:
  // A block across the end of a run: copies its rows into one buffer.
  Block seam(std::size_t most) {
    seam_.reset(*runs_.front().rows);
    while (!empty() && seam_.size() < most) {
      const MatchRun& front = runs_.front();
      const std::size_t count = std::min(most - seam_.size(), front.count - used_);
      seam_.append(*front.rows, front.begin + used_, count);
      advance(count);
    }
    return {seam_, 0, seam_.size()};
  }
  void advance(std::size_t count) {
    used_ += count;
    if (used_ < runs_.front().count) return;
    runs_ = runs_.subspan(1);
    used_ = 0;
  }

  std::span<const MatchRun> runs_;  // the first is not used up
  std::size_t used_ = 0;            // rows used of the first run
  MatchBuffer seam_;
};

}  // namespace egret::egraph
