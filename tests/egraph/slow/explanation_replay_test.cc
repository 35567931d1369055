// SPDX-License-Identifier: Apache-2.0
// Ten thousand random equalities of larger runs than the unit tests have.
#include "tests/egraph/explanation_replay.h"

#include <gtest/gtest.h>

#include "tests/egraph/explanation_workload.h"

namespace egret::egraph {
namespace {

TEST(ExplanationReplay, OfLargerRuns) {
  struct Case {
    const char* workload;
    std::size_t equalities;
  };
  for (const Case& c : {Case{"mm-8", 4000}, Case{"math-backoff-12", 2500}, Case{"assoc-8", 2500},
                        Case{"lambda-backoff-30", 1000}}) {
    SCOPED_TRACE(c.workload);
    const auto workload = ExplanationWorkload::open(c.workload);
    replay(workload->egraph(), workload->checker(), c.equalities, 7);
  }
}

}  // namespace
}  // namespace egret::egraph
