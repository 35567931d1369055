// SPDX-License-Identifier: Apache-2.0
#include "rules/testing/instance_stream.h"

#include <algorithm>

#include "base/stop.h"

namespace egret::rules {
namespace {

constexpr std::uint64_t kAttemptsToAWalk = 10;  // that came to nothing, for an instance of the walk
constexpr std::uint64_t kMostWalked = 15;       // from one random instance
constexpr int kStepsToAnInstance = 40;
constexpr std::uint64_t kPatience = 1000;  // failed attempts before the other source is asked
constexpr std::uint64_t kStepStream = std::uint64_t{1} << 41;  // far from attempts

}  // namespace

// A random instance that took many attempts owes up to kMostWalked walked instances, one per
// kAttemptsToAWalk failed attempts. These are delivered before the next random attempt.
std::optional<Instance> InstanceStream::next(std::uint64_t most_attempts) {
  for (; owed_ > 0; --owed_) {
    for (int step = 0; step < kStepsToAnInstance && !base::stop_requested(); ++step) {
      auto instance = walk_->step(random_.split(kStepStream + steps_++));
      if (!instance) continue;
      --owed_;
      ++walked_;
      return instance;
    }
  }
  while (!base::stop_requested()) {
    const bool at_end = attempts_ >= most_attempts;
    const bool is_rare = failed_ >= kPatience || (at_end && failed_ == attempts_);
    if (is_rare && other_ != nullptr) {
      if (auto instance = other_->next()) {
        only_other_ = failed_ == attempts_;
        ++walked_;
        return instance;
      }
      other_ = nullptr;
    }
    if (at_end || only_other_) return std::nullopt;
    auto instance = instantiator_.attempt(random_.split(attempts_++));
    if (!instance) {
      ++failed_;
      continue;
    }
    owed_ = std::min(failed_ / kAttemptsToAWalk, kMostWalked);
    failed_ = 0;
    if (owed_ > 0) walk_.emplace(instantiator_, instance->choice);
    return instance;
  }
  return std::nullopt;
}

}  // namespace egret::rules
