// SPDX-License-Identifier: Apache-2.0
#include "runtime/pipeline/link_time.h"

#include <algorithm>
#include <cmath>

#include "base/timer.h"

namespace egret::runtime {
namespace {

constexpr std::size_t kShort = 1 << 10;
constexpr std::size_t kLong = 1 << 20;

// One way, at rank 0.
base::Result<double> seconds_of(Messages& messages, std::int64_t rank, std::int64_t tag,
                                std::size_t size, int repetitions) {
  double best = HUGE_VAL;
  for (int i = 0; i < repetitions; ++i) {
    const base::Stopwatch watch;
    if (rank == 0) EGRET_RETURN_IF_ERROR(messages.send(1, tag, MessageBytes(size)));
    EGRET_ASSIGN_OR_RETURN(MessageBytes bytes, messages.receive(1 - rank, tag));
    if (rank == 1) EGRET_RETURN_IF_ERROR(messages.send(0, tag, std::move(bytes)));
    best = std::min(best, watch.seconds() / 2);
  }
  return best;
}

}  // namespace

base::Result<LinkTime> time_link(Messages& messages, std::int64_t rank, std::int64_t tag,
                                 int repetitions) {
  LinkTime result;
  if (rank > 1) return result;
  EGRET_ASSIGN_OR_RETURN(const double few, seconds_of(messages, rank, tag, kShort, repetitions));
  EGRET_ASSIGN_OR_RETURN(const double many, seconds_of(messages, rank, tag, kLong, repetitions));
  const double per_byte = std::max(1e-12, (many - few) / static_cast<double>(kLong - kShort));
  result.bytes_per_second = 1 / per_byte;
  result.message_s = std::max(0.0, few - static_cast<double>(kShort) * per_byte);
  return result;
}

}  // namespace egret::runtime
