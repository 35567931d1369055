// SPDX-License-Identifier: Apache-2.0
// A random walk through the instances of a rule: from one to another in which one size or integer
// attribute is changed, to a number on which decisions may turn. It finds what random instances
// seldom are: those where several numbers are right at once.
#pragma once

#include <optional>
#include <vector>

#include "rules/instantiation.h"

namespace egret::rules {

// Choices of few and small numbers, many of which are no instance: tensors of at most two axes of
// sizes 1 and 2, in all combinations, single integer attributes 0 or 1 or as they are. What ranks
// may be together is seldom all seen by chance: broadcasts make instances of odd combinations. When
// there are more than `most`, so many of them at random.
std::vector<Choice> small_choices(const Choice& like, std::size_t most, base::Random random);

// Choices at random, many of which are no instance: tensors of one rank, 3 or 4, and sizes 1 and 2,
// half of them of the same shape as another; single integer attributes an axis of such tensors, or
// as they are. Where tensors have axes before those that an operator is about, sizes that agree by
// chance alone are found so: all of them are 1 or 2.
std::vector<Choice> deep_choices(const Choice& like, std::size_t count, base::Random random);

class InstanceWalk {
 public:
  // The instantiator outlives the walk.
  InstanceWalk(Instantiator& instantiator, Choice start)
      : instantiator_(instantiator), at_(std::move(start)) {}

  // Changes one size, or all of one number, to 1, one more or as another; or one integer attribute
  // to 0, 1, one more or one less. Nullopt, and no step, if that is no instance with sizes of at
  // most 8.
  std::optional<Instance> step(base::Random random);

 private:
  Instantiator& instantiator_;
  Choice at_;
};

}  // namespace egret::rules
