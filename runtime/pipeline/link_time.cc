// SPDX-License-Identifier: Apache-2.0
#include "runtime/pipeline/link_time.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/timer.h"

namespace egret::runtime {
namespace {

constexpr std::array<std::size_t, 5> kSizes = {1 << 10, 1 << 14, 1 << 16, 1 << 18, 1 << 20};
constexpr std::size_t kBeside = 1 << 16;
constexpr std::int64_t kMostUnderWay = 4;

double lower_quartile(std::vector<double> seconds) {
  const auto quartile = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 4);
  std::ranges::nth_element(seconds, quartile);
  return *quartile;
}

enum class Direction : unsigned char { kForthAndBack, kBothAtOnce };

struct Seconds {
  double one_way = 0, sending = 0;
};

// Both ranks begin together: each has got the message before. The first exchange makes connections,
// and aligns them.
base::Result<Seconds> seconds_of(Messages& messages, std::int64_t rank, std::int64_t tag,
                                 std::size_t size, Direction direction, int repetitions) {
  std::vector<double> one_way, sending;
  const bool both = direction == Direction::kBothAtOnce;
  const auto receive = [&] { return messages.receive(1 - rank, tag).status(); };
  for (int i = 0; i <= repetitions; ++i) {
    MessageBytes bytes(size);
    const base::Stopwatch watch;
    if (!both && rank == 1) EGRET_RETURN_IF_ERROR(receive());
    const base::Stopwatch sender;
    EGRET_RETURN_IF_ERROR(messages.send(1 - rank, tag, std::move(bytes)));
    const double sent_s = sender.seconds();
    if (both || rank == 0) EGRET_RETURN_IF_ERROR(receive());
    if (i == 0 && repetitions > 0) continue;
    one_way.push_back(watch.seconds() / (both ? 1 : 2));
    sending.push_back(sent_s);
  }
  return Seconds{lower_quartile(std::move(one_way)), lower_quartile(std::move(sending))};
}

}  // namespace

base::Result<LinkTime> time_link(Messages& messages, std::int64_t rank, std::int64_t tag,
                                 int repetitions) {
  LinkTime result;
  if (rank > 1) return result;
  const auto timed = [&](std::size_t size, Direction direction) {
    return seconds_of(messages, rank, tag, size, direction, repetitions);
  };
  const std::size_t few = kSizes[kSizes.size() - 2], many = kSizes.back();
  EGRET_ASSIGN_OR_RETURN(const Seconds short_s, timed(few, Direction::kBothAtOnce));
  EGRET_ASSIGN_OR_RETURN(const Seconds long_s, timed(many, Direction::kBothAtOnce));
  const double per_byte =
      std::max(1e-12, (long_s.one_way - short_s.one_way) / static_cast<double>(many - few));
  result.bytes_per_second = 1 / per_byte;
  for (const std::size_t size : kSizes) {
    EGRET_ASSIGN_OR_RETURN(const Seconds taken, timed(size, Direction::kForthAndBack));
    const auto bytes = static_cast<double>(size);
    result.messages.push_back(
        {bytes, std::max(0.0, taken.one_way - bytes * per_byte), taken.sending});
  }
  return result;
}

MessagesBeside::MessagesBeside(Messages& messages, std::int64_t rank, std::int64_t ranks,
                               std::int64_t tag)
    : messages_(messages),
      neighbour_(rank % 2 == 0 ? rank + 1 : rank - 1),
      has_neighbour_(neighbour_ < ranks),
      tag_(tag) {}

base::Status MessagesBeside::keep() {
  if (!has_neighbour_) return base::ok();
  while (!neighbour_ended_) {
    EGRET_ASSIGN_OR_RETURN(const std::optional<MessageBytes> bytes,
                           messages_.take(neighbour_, tag_));
    if (!bytes) break;
    neighbour_ended_ = bytes->empty();
    --under_way_;
  }
  for (; under_way_ < kMostUnderWay && !neighbour_ended_; ++under_way_)
    EGRET_RETURN_IF_ERROR(messages_.send(neighbour_, tag_, MessageBytes(kBeside)));
  return base::ok();
}

base::Status MessagesBeside::end() {
  if (!has_neighbour_) return base::ok();
  EGRET_RETURN_IF_ERROR(messages_.send(neighbour_, tag_, {}));  // the last one
  while (!neighbour_ended_) {
    EGRET_ASSIGN_OR_RETURN(const MessageBytes bytes, messages_.receive(neighbour_, tag_));
    neighbour_ended_ = bytes.empty();
  }
  return base::ok();
}

}  // namespace egret::runtime
