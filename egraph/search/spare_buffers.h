// SPDX-License-Identifier: Apache-2.0
// Keeps released row buffers for reuse: fresh memory costs more (page faults) than writing to it.
//
// There are two kinds. A part has a capacity of some mebibytes from the beginning, in huge pages
// (egraph/core/flat_array.h). Other buffers begin small and grow. A rule with many rows uses a
// sequence of parts of equal size, so nothing is copied and each part can be reused.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "egraph/search/match_buffer.h"

namespace egret::egraph {

class SpareBuffers {
 public:
  static constexpr std::size_t kPart = std::size_t{4} << 20;       // bytes of a part
  static constexpr std::size_t kWorthPart = std::size_t{1} << 18;  // of rows, to go on in parts

  // Limits the spare memory to `bytes` from now on.
  void keep_at_most(std::size_t bytes) {
    most_ = bytes;
    while (bytes_ > most_ && !small_.empty()) pop(small_);
    while (bytes_ > most_ && !parts_.empty()) pop(parts_);
  }
  void keep(MatchBuffer rows) {
    if (rows.bytes() == 0 || bytes_ + rows.bytes() > most_) return;
    bytes_ += rows.bytes();
    (is_part(rows) ? parts_ : small_).push_back(std::move(rows));
  }

  // An empty buffer for rows of this format.
  MatchBuffer take(std::size_t vars, std::size_t op_vars) {
    MatchBuffer rows = small_.empty() ? MatchBuffer() : pop(small_);
    rows.reset(vars, op_vars);
    return rows;
  }
  MatchBuffer take_part(std::size_t vars, std::size_t op_vars) {
    MatchBuffer rows = parts_.empty() ? MatchBuffer() : pop(parts_);
    rows.reset(vars, op_vars);
    if (rows.row_bytes() > 0) rows.reserve(kPart / rows.row_bytes() + 1);
    return rows;
  }

  // Whether further rows should go to a new part.
  static bool is_full(const MatchBuffer& rows) {
    return rows.size() * rows.row_bytes() >= (is_part(rows) ? kPart : kWorthPart);
  }

 private:
  static bool is_part(const MatchBuffer& rows) { return rows.bytes() >= kPart; }
  MatchBuffer pop(std::vector<MatchBuffer>& kind) {
    MatchBuffer rows = std::move(kind.back());
    kind.pop_back();
    bytes_ -= rows.bytes();
    return rows;
  }

  std::vector<MatchBuffer> small_;
  std::vector<MatchBuffer> parts_;
  std::size_t bytes_ = 0;
  std::size_t most_ = 0;
};

}  // namespace egret::egraph
