// SPDX-License-Identifier: Apache-2.0
// The matches of one pattern in their order, whoever found them: runs of rows in buffers each of
// which one thread writes. Threads fill large buffers of their own, and putting in order what they
// found moves no row.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "egraph/search/match_buffer.h"

namespace egret::egraph {

// `count` rows of a buffer, from `begin` on.
struct MatchRun {
  const MatchBuffer* rows;
  std::size_t begin;
  std::size_t count;
};

class MatchList {
 public:
  // Takes in a buffer to write rows to, which are no part of the list before they are added. It
  // stays where it is until buffers are taken out.
  MatchBuffer& open(MatchBuffer rows) { return buffers_.emplace_back(std::move(rows)); }
  // The next rows; the buffer is one of those taken in.
  void add(const MatchBuffer& rows, std::size_t begin, std::size_t count) {
    if (count == 0) return;
    size_ += count;
    if (!runs_.empty() && runs_.back().rows == &rows &&
        runs_.back().begin + runs_.back().count == begin) {
      runs_.back().count += count;
    } else {
      runs_.push_back({&rows, begin, count});
    }
  }

  std::size_t size() const { return size_; }
  std::span<const MatchRun> runs() const { return runs_; }
  // Of the rows, not of the room for more.
  std::size_t bytes() const { return buffers_.empty() ? 0 : size_ * buffers_.front().row_bytes(); }

  template <typename Visit>
  void for_each(Visit visit) const {
    for (const MatchRun& run : runs_) {
      for (std::size_t i = 0; i < run.count; ++i) visit((*run.rows)[run.begin + i]);
    }
  }

  // Leaves the list empty.
  std::deque<MatchBuffer> take_buffers() {
    runs_.clear();
    size_ = 0;
    return std::exchange(buffers_, {});
  }

 private:
  std::deque<MatchBuffer> buffers_;
  std::vector<MatchRun> runs_;
  std::size_t size_ = 0;
};

}  // namespace egret::egraph
