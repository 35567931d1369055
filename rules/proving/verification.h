// SPDX-License-Identifier: Apache-2.0
// Verifies a rule. Random instances are first tested on tensors. Then they are generalized to
// families (rules/proving/generalization.h), whose two sides are proven equal
// (verifier/equality/obligation.h), until fresh instances are members of proven families.
//
// Meaning of "proven": for each listed family, for all sizes of at least 1 and all attributes that
// satisfy its conditions, in exact real arithmetic, wherever the left side is a finite number.
// Within a kind of instances, the families cover all sizes and attributes if Covered::open is empty
// (rules/proving/cover.h). That no kind is missing is checked by sampling, not proven.
//
// A family that cannot be proven directly may be derived from proven rules
// (rules/proving/rewriting_proof.h). Otherwise it is checked exhaustively up to a bound
// (rules/proving/bounded_check.h), and the rule is called bounded.
//
// A rule that no sizes of at least 1 satisfy is about tensors without elements, if sizes of 0
// satisfy it. The kinds of its instances then say which sizes are 0; the others are at least 1
// (Verdict::of_empty).
//
// With VerifyOptions::claim, the same search proves that the sides differ on every instance.
//
// A rule without content is a failure of its own: one without instances (vacuous), and one whose
// two sides are the same graph (trivial).
//
// Deterministic for a seed: the solver is bounded by its own work units, never by time. After
// base::stop_requested() the rule is undecided, within about the time of one family.
#pragma once

#include "rules/language/rule.h"
#include "rules/proving/verdict.h"
#include "rules/testing/known_operators.h"

namespace egret::rules {

// Thread-safe with a shared `known`. The verdict does not depend on other threads.
Verdict verify(const Rule& rule, const VerifyOptions& options, KnownOperators& known);

// Whether Egret was built with the second solver.
bool has_second_solver();

}  // namespace egret::rules
