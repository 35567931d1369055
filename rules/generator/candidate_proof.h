// SPDX-License-Identifier: Apache-2.0
// Whether a candidate is a rule. Most are none, and of those that are most are tried in several
// forms; so few instances are looked at first. What they refute or leave open goes no further; what
// they prove is proven again exactly as rules that come with Egret are, and tested as often as time
// allows: that the families of a proof are the whole rule is only sampled.
#pragma once

#include <functional>

#include "rules/proving/verification.h"
#include "rules/testing/tester.h"

namespace egret::rules::generator {

// Few instances, seldom drawn: what they show costs a twentieth of a verification.
VerifyOptions screening_options();

struct CandidateScrutiny {
  VerifyOptions screening = screening_options();
  VerifyOptions verification{};
  TestOptions tests{.checks = 1000, .attempts_per_check = 400, .seed = 2};
};

// Undecided where random search finds no instances, which verification needs many of.
Verdict screen_candidate(const Rule& rule, const VerifyOptions& screening, KnownOperators& known);
Verdict prove_candidate(const Rule& rule, const CandidateScrutiny& scrutiny, KnownOperators& known);
// `proven`, or what tests say against it: refuted, or undecided where random search finds few
// instances on which the left side has a number.
Verdict test_candidate(const Rule& rule, Verdict proven, const TestOptions& tests,
                       KnownOperators& known);

// One of these, when it is somebody else's choice.
using Judge = std::function<Verdict(const Rule& rule)>;

}  // namespace egret::rules::generator
