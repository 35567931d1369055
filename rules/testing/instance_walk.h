// SPDX-License-Identifier: Apache-2.0
// A random walk through the instances of a rule. A step changes one size or integer attribute to a
// number at which decisions may change. It finds instances that random sampling rarely hits: those
// with several specific numbers at once.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "rules/testing/instantiation.h"

namespace egret::rules {

class InstanceWalk {
 public:
  // The instantiator must outlive the walk.
  InstanceWalk(Instantiator& instantiator, Choice start)
      : instantiator_(instantiator),
        applications_(source_applications(instantiator.rule())),
        at_(std::move(start)) {}

  // Makes one random change. It sets one size, or all sizes equal to one number, to 1, to one more,
  // or to another size. Or it sets one integer attribute to 0, 1, one more or one less. Attributes
  // of operators without operands count as sizes. nullopt, and no move, if the result is not an
  // instance with sizes of at most 8.
  std::optional<Instance> step(base::Random random);

 private:
  Instantiator& instantiator_;
  std::vector<const Term*> applications_;
  Choice at_;
};

}  // namespace egret::rules
