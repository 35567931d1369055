// SPDX-License-Identifier: Apache-2.0
// Both sides of a rule's instance in exact rational arithmetic (ir/evaluate/exact.h): what
// rules/testing/tester.h does in floating point, without a tolerance. Slower by two orders of
// magnitude.
#pragma once

#include "rules/language/rule.h"
#include "rules/testing/instantiation.h"

namespace egret::rules {

enum class ExactOutcome : std::uint8_t {
  kEqual,      // all elements, exactly, whatever the functions are that have no exact values
  kDifferent,  // in exact arithmetic, no such function being computed
  kFunctions,  // the sides differ where functions stand for random ones: nothing is said
  kVoid,       // the left side is undefined somewhere
};

// Of random tensors. Functions without exact values (exp, sqrt, ...) are keyed random functions, so
// that rules which need their laws come out as kFunctions.
ExactOutcome compare_exactly(const Instance& instance, base::Random random);

}  // namespace egret::rules
