// SPDX-License-Identifier: Apache-2.0
// Compares both sides of an instance in exact rational arithmetic (ir/evaluate/exact.h). It does
// without tolerance what rules/testing/tester.h does in floating point, and is slower by two orders
// of magnitude.
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

// Uses random tensors. Functions without exact values (exp, sqrt, ...) are replaced by keyed random
// functions, so rules that need their laws give kFunctions.
ExactOutcome compare_exactly(const Instance& instance, base::Random random);

}  // namespace egret::rules
