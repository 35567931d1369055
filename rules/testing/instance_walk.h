// SPDX-License-Identifier: Apache-2.0
// A random walk through the instances of a rule: from one to another in which one size or integer
// attribute is changed, to a number on which decisions may turn. It finds what random instances
// seldom are: those where several numbers are right at once.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "rules/testing/instantiation.h"

namespace egret::rules {

class InstanceWalk {
 public:
  // The instantiator outlives the walk.
  InstanceWalk(Instantiator& instantiator, Choice start)
      : instantiator_(instantiator),
        applications_(source_applications(instantiator.rule())),
        at_(std::move(start)) {}

  // Changes one size, or all of one number (attributes too where an operator has no operands, so
  // that they are sizes), to 1, one more or as another; or one integer attribute to 0, 1, one more
  // or one less. Nullopt, and no step, if that is no instance with sizes of at most 8.
  std::optional<Instance> step(base::Random random);

 private:
  Instantiator& instantiator_;
  std::vector<const Term*> applications_;
  Choice at_;
};

}  // namespace egret::rules
