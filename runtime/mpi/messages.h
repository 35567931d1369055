// SPDX-License-Identifier: Apache-2.0
// Messages between two ranks that travel while both compute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.h"

namespace egret::runtime {

using MessageBytes = std::vector<std::byte>;

// The end of one rank. Messages of one sender with one tag arrive in the order in which they were
// sent. A rank may send to itself. One thread uses an object.
class Messages {
 public:
  Messages() = default;
  virtual ~Messages() = default;
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  // Returns before the message has arrived. Tags are not negative. Errors: unsupported above 2 GiB.
  virtual base::Status send(std::int64_t to, std::int64_t tag, MessageBytes bytes) = 0;
  // The message, if it is here. Errors: rank_failed.
  virtual base::Result<std::optional<MessageBytes>> take(std::int64_t from, std::int64_t tag) = 0;
  // Waits for it, also on base::stop_requested(): ranks agree on where they stop. Errors:
  // rank_failed, also after the time limit.
  virtual base::Result<MessageBytes> receive(std::int64_t from, std::int64_t tag) = 0;
};

}  // namespace egret::runtime
