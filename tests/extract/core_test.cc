// SPDX-License-Identifier: Apache-2.0
#include "extract/core/core.h"

#include <gtest/gtest.h>

#include "extract/greedy/local_search.h"
#include "extract/reduce/reduce.h"
#include "tests/extract/random_view.h"

namespace egret::extract {
namespace {

TEST(Core, FindsInALiftedAnswerWhatWasChosen) {
  base::Random random(51);
  int decided = 0;
  for (int trial = 0; trial < 500; ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    const RandomView view = random_view(random, 12, {.nodes = 3, .arity = 3, .backwards = 0.2});
    const Problem problem{view.graph, view.costs};
    auto core = Core::of(problem);
    if (!core.ok()) continue;
    reduce(*core, problem, {});
    if (core->classes.empty()) continue;
    const CoreProblem reduced(*core);
    const auto found = extract_local_search(reduced.problem(), {});
    ASSERT_TRUE(found.ok());
    const std::vector<NodeIndex> chosen = reduced.chosen(*found);
    EXPECT_EQ(reduced.choice(chosen), found->choice);
    const Solution lifted = solution_of(problem, core->lift(problem, chosen));
    const CoreAnswer again = needed_of(*core, core->left_of(problem, lifted.choice));
    ASSERT_FALSE(again.chosen.empty());
    EXPECT_NEAR(core->paid + again.cost, lifted.dag_cost, 1e-9);
    ++decided;
  }
  EXPECT_GT(decided, 50);
}

}  // namespace
}  // namespace egret::extract
