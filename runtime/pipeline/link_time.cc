// SPDX-License-Identifier: Apache-2.0
#include "runtime/pipeline/link_time.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/timer.h"

namespace egret::runtime {
namespace {

constexpr std::size_t kShort = 1 << 10;
constexpr std::size_t kLong = 1 << 20;

// From the send to the arrival of the other's. Both begin together: each has got the message
// before. The first exchange makes connections, and aligns them.
base::Result<double> seconds_of(Messages& messages, std::int64_t rank, std::int64_t tag,
                                std::size_t size, int repetitions) {
  std::vector<double> seconds;
  for (int i = 0; i <= repetitions; ++i) {
    MessageBytes bytes(size);
    const base::Stopwatch watch;
    EGRET_RETURN_IF_ERROR(messages.send(1 - rank, tag, std::move(bytes)));
    EGRET_RETURN_IF_ERROR(messages.receive(1 - rank, tag).status());
    if (i > 0 || repetitions == 0) seconds.push_back(watch.seconds());
  }
  const auto quartile = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 4);
  std::ranges::nth_element(seconds, quartile);
  return *quartile;
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
