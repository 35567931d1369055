// SPDX-License-Identifier: Apache-2.0
// Small counterexamples.
#pragma once

#include "base/random.h"
#include "rules/testing/instantiation.h"
#include "rules/testing/tester.h"

namespace egret::rules {

// A comparison that refutes the rule too, on an instance with sizes and attributes as small as
// single changes, and changes of all equal numbers at once, make them. `found` is the result for
// `instance`. Deterministic, at most a few hundred comparisons; tensors have at most
// `most_elements`.
Comparison shrunk(const Instance& instance, Comparison found, Instantiator& instantiator,
                  const base::Random& random, KnownOperators& known, std::int64_t most_elements);

}  // namespace egret::rules
