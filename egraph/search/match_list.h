// SPDX-License-Identifier: Apache-2.0
// The matches of one pattern in order, independent of which thread found them. The list consists of
// runs of rows in buffers; each buffer is written by one thread. Threads write to large buffers of
// their own, and ordering the results moves no row.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "egraph/search/match_buffer.h"

namespace egret::egraph {

// `count` rows of a buffer, from row `begin` on.
struct MatchRun {
  const MatchBuffer* rows;
  std::size_t begin;
  std::size_t count;
};

class MatchList {
 public:
  // Adopts a buffer for writing. Its rows are not in the list until they are added. Its address is
  // stable until take_buffers().
  MatchBuffer& open(MatchBuffer rows) { return buffers_.emplace_back(std::move(rows)); }
  // Appends rows of an adopted buffer to the list.
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
  // The bytes of the listed rows, without unused capacity.
  std::size_t bytes() const { return buffers_.empty() ? 0 : size_ * buffers_.front().row_bytes(); }

  template <typename Visit>
  void for_each(Visit visit) const {
    for (const MatchRun& run : runs_) {
      for (std::size_t i = 0; i < run.count; ++i) visit((*run.rows)[run.begin + i]);
    }
  }

  // Takes the buffers out and empties the list.
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
