// SPDX-License-Identifier: Apache-2.0
// A stream of instances of a rule. It draws random instances; if these are rare, it also walks from
// them (rules/testing/instance_walk.h). A rule with one instance in hundreds of attempts is thus
// tested as closely as others, in acceptable time. If a thousand attempts in a row find none, the
// stream takes its instances from another source, if it has one.
//
// Deterministic for the given random stream.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "base/random.h"
#include "rules/testing/instance_source.h"
#include "rules/testing/instance_walk.h"
#include "rules/testing/instantiation.h"

namespace egret::rules {

class InstanceStream {
 public:
  // The instantiator and the other source must outlive the stream.
  InstanceStream(Instantiator& instantiator, base::Random random, InstanceSource* other = nullptr)
      : instantiator_(instantiator), random_(random), other_(other) {}

  // nullopt if the stream has made `most_attempts` attempts in total, or a stop is requested.
  std::optional<Instance> next(
      std::uint64_t most_attempts = std::numeric_limits<std::uint64_t>::max());

  // The number of random attempts, most of which fail, and of instances reached by walks or from
  // the other source.
  std::uint64_t attempts() const { return attempts_; }
  std::uint64_t walked() const { return walked_; }

 private:
  Instantiator& instantiator_;
  base::Random random_;
  std::uint64_t attempts_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t walked_ = 0;
  std::uint64_t failed_ = 0;  // attempts since the last random instance
  std::uint64_t owed_ = 0;    // instances that the walk is to lead to before the next attempt
  InstanceSource* other_;     // null: none, or it has ended
  bool only_other_ = false;   // random attempts never succeeded, but the other source did
  std::optional<InstanceWalk> walk_;
};

}  // namespace egret::rules
