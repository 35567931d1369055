// SPDX-License-Identifier: Apache-2.0
// The fallback for a family that could not be proven: checks each member whose sizes and integer
// attributes are at most a bound. The member's reductions are expanded, and each element is proven
// separately (verifier/equality/obligation.h), for all tensors. Extrema over windows become extrema
// of a few numbers, which real arithmetic decides.
//
// The bound is the least one with members, or a greater one if those are few. A family without
// members up to the greatest bound is not checked. Neither is a family with open reals: the
// stand-ins would need a second choice, as in rules/proving/family_proofs.cc.
//
// Deterministic: bounded by counts, never by time.
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

// `most` bounds the number of members checked. The instance must belong to the family.
BoundedCheck check_up_to_bound(const Rule& rule, const Instance& instance, const Family& family,
                               std::int64_t most, Instantiator& instantiator,
                               verifier::SolverSession& session);

}  // namespace egret::rules
