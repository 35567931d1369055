// SPDX-License-Identifier: Apache-2.0
// The matches of several buffers, one after the other, in blocks that do not depend on where a
// buffer ends: that depends on which thread found what, and what is applied together must not.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "egraph/match_buffer.h"

namespace egret::egraph {

class MatchBlocks {
 public:
  // Of one pattern; they must outlive the object.
  explicit MatchBlocks(std::span<const MatchBuffer> buffers) : buffers_(buffers) { skip_empty(); }

  bool empty() const { return buffers_.empty(); }

  // `count` rows from `begin` on; valid until the next call.
  struct Block {
    const MatchBuffer& rows;
    std::size_t begin;
    std::size_t count;
  };
  // The next `most` rows, or what is left. Not to be called when empty.
  Block next(std::size_t most) {
    const MatchBuffer& front = buffers_.front();
    if (buffers_.size() > 1 && front.size() - begin_ < most) return seam(most);
    const Block block{front, begin_, std::min(most, front.size() - begin_)};
    advance(block.count);
    return block;
  }

 private:
  // The end of one buffer and the beginning of the next.
  Block seam(std::size_t most) {
    seam_.reset(buffers_.front());
    while (!empty() && seam_.size() < most) {
      const std::size_t count = std::min(most - seam_.size(), buffers_.front().size() - begin_);
      seam_.append(buffers_.front(), begin_, count);
      advance(count);
    }
    return {seam_, 0, seam_.size()};
  }
  void advance(std::size_t count) {
    begin_ += count;
    skip_empty();
  }
  void skip_empty() {
    while (!empty() && begin_ == buffers_.front().size()) {
      buffers_ = buffers_.subspan(1);
      begin_ = 0;
    }
  }

  std::span<const MatchBuffer> buffers_;  // the first is not used up
  std::size_t begin_ = 0;                 // in it
  MatchBuffer seam_;
};

}  // namespace egret::egraph
