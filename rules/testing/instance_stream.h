// SPDX-License-Identifier: Apache-2.0
// Instances of a rule one after the other: random ones, and where these are rare, walks from them
// (rules/testing/instance_walk.h), so that a rule of which one attempt in hundreds is an instance
// is not looked at less closely than others, nor for minutes.
//
// Deterministic for the random stream that it is given.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "base/random.h"
#include "rules/testing/instance_walk.h"
#include "rules/testing/instantiation.h"

namespace egret::rules {

class InstanceStream {
 public:
  // The instantiator outlives the stream.
  InstanceStream(Instantiator& instantiator, base::Random random)
      : instantiator_(instantiator), random_(random) {}

  // Nullopt when the stream has made `most_attempts` in all, or a stop is requested.
  std::optional<Instance> next(
      std::uint64_t most_attempts = std::numeric_limits<std::uint64_t>::max());

  // Random attempts, of which most come to nothing; and instances that walks led to.
  std::uint64_t attempts() const { return attempts_; }
  std::uint64_t walked() const { return walked_; }

 private:
  Instantiator& instantiator_;
  base::Random random_;
  std::uint64_t attempts_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t walked_ = 0;
  std::uint64_t owed_ = 0;  // instances that the walk is to lead to before the next attempt
  std::optional<InstanceWalk> walk_;
};

}  // namespace egret::rules
