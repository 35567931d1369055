// SPDX-License-Identifier: Apache-2.0
// Messages that have arrived at a rank, by sender and tag.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "runtime/mpi/messages.h"

namespace egret::runtime {

// Safe for concurrent use.
class Mailbox {
 public:
  void put(std::int64_t from, std::int64_t tag, MessageBytes bytes);
  // Ends all waiting, now and later, with this error.
  void fail(base::Status failure);

  base::Result<std::optional<MessageBytes>> take(std::int64_t from, std::int64_t tag);
  // Errors: that of fail(); rank_failed after LIMIT_S seconds.
  base::Result<MessageBytes> wait(std::int64_t from, std::int64_t tag, double limit_s);
  // The error after that time.
  static base::Status none_within(std::int64_t from, double limit_s);

 private:
  std::optional<MessageBytes> found(std::int64_t from, std::int64_t tag);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::deque<MessageBytes>> arrived_;
  base::Status failure_;
};

}  // namespace egret::runtime
