// SPDX-License-Identifier: Apache-2.0
#include "runtime/mpi/mailbox.h"

#include <chrono>
#include <string>

#include "base/timer.h"

namespace egret::runtime {

void Mailbox::put(std::int64_t from, std::int64_t tag, MessageBytes bytes) {
  {
    const std::lock_guard lock(mutex_);
    arrived_[{from, tag}].push_back(std::move(bytes));
  }
  changed_.notify_all();
}

void Mailbox::fail(base::Status failure) {
  {
    const std::lock_guard lock(mutex_);
    if (failure_.ok()) failure_ = std::move(failure);
  }
  changed_.notify_all();
}

std::optional<MessageBytes> Mailbox::found(std::int64_t from, std::int64_t tag) {
  const auto at = arrived_.find({from, tag});
  if (at == arrived_.end()) return std::nullopt;
  MessageBytes bytes = std::move(at->second.front());
  at->second.pop_front();
  if (at->second.empty()) arrived_.erase(at);
  return bytes;
}

base::Result<std::optional<MessageBytes>> Mailbox::take(std::int64_t from, std::int64_t tag) {
  const std::lock_guard lock(mutex_);
  std::optional<MessageBytes> bytes = found(from, tag);
  if (!bytes && !failure_.ok()) return failure_;
  return bytes;
}

base::Status Mailbox::none_within(std::int64_t from, double limit_s) {
  return {base::StatusCode::kRankFailed, "no message from rank " + std::to_string(from) +
                                             " within " + std::to_string(limit_s) + " s"};
}

base::Result<MessageBytes> Mailbox::wait(std::int64_t from, std::int64_t tag, double limit_s) {
  constexpr auto kLook = std::chrono::milliseconds(50);
  const base::Stopwatch watch;
  std::unique_lock lock(mutex_);
  while (true) {
    if (std::optional<MessageBytes> bytes = found(from, tag)) return std::move(*bytes);
    if (!failure_.ok()) return failure_;
    if (watch.seconds() > limit_s) return none_within(from, limit_s);
    changed_.wait_for(lock, kLook);
  }
}

}  // namespace egret::runtime
