// SPDX-License-Identifier: Apache-2.0
// A stream of instances of a rule. It draws random instances; if these are rare, it also walks from
// them (rules/testing/instance_walk.h). A rule with one instance in hundreds of attempts is thus
// tested as closely as others, in acceptable time.
//
// Deterministic for the given random stream.
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
  // The instantiator must outlive the stream.
  InstanceStream(Instantiator& instantiator, base::Random random)
      : instantiator_(instantiator), random_(random) {}

  // nullopt if the stream has made `most_attempts` attempts in total, or a stop is requested.
  std::optional<Instance> next(
      std::uint64_t most_attempts = std::numeric_limits<std::uint64_t>::max());

  // The number of random attempts, most of which fail, and of instances reached by walks.
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
