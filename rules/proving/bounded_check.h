// SPDX-License-Identifier: Apache-2.0
// What can be said of a family that could not be proven: its members are looked at one by one, all
// whose sizes and integer attributes are at most a bound. A member's reductions are written out,
// and each element is proven by itself (verifier/equality/obligation.h), for all tensors: extrema
// over windows become extrema of few numbers, which real arithmetic decides.
//
// The bound is the least for which there are members, or more where they are few. A family without
// members up to there has not been checked, nor has one with open reals: numbers that stand for
// them would need a second choice, as in rules/proving/verification.cc.
//
// Deterministic; counts bound it, never time.
#pragma once

#include <cstdint>
#include <string>

#include "rules/proving/generalization.h"

namespace egret::rules {

struct BoundedCheck {
  std::int64_t bound = 0;    // all members up to it were proven; 0: not so
  std::int64_t members = 0;  // that were proven
  std::string reason;        // why not
};

// `most` bounds the members that are looked at. The instance is one of the family.
BoundedCheck check_up_to_bound(const Rule& rule, const Instance& instance, const Family& family,
                               std::int64_t most, Instantiator& instantiator,
                               verifier::SolverSession& session);

}  // namespace egret::rules
