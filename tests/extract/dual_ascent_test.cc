// SPDX-License-Identifier: Apache-2.0
#include "extract/bounds/dual_ascent.h"

#include <gtest/gtest.h>

#include "tests/extract/all_choices.h"
#include "tests/extract/random_view.h"

namespace egret::extract {
namespace {

constexpr double kRounding = 1e-9;

// What dual ascent says of a core, against all its choices.
class AgainstAllChoices {
 public:
  AgainstAllChoices(const Core& core, const DualAscentOptions& options)
      : flat_(core), dual_(dual_ascent(core, flat_, options)) {
    const CoreProblem problem(core);
    for_all_choices(problem.problem(),
                    [&](const ChoiceWalk& walk, const std::vector<NodeIndex>& choice) {
                      best_ = std::min(best_, walk.dag_cost);
                      EXPECT_LE(dual_.bound, walk.dag_cost + kRounding);
                      check_least(core, walk, choice);
                      check_rows(walk, choice);
                    });
  }

  double bound() const { return dual_.bound; }
  double best() const { return best_; }

 private:
  // Nodes of a CoreProblem are numbered as candidates are.
  void check_least(const Core& core, const ChoiceWalk& walk, const std::vector<NodeIndex>& choice) {
    const std::vector<double> least = least_costs(core, flat_, dual_);
    for (const ClassIndex c : walk.order) EXPECT_LE(least[choice[c]], walk.dag_cost + kRounding);
  }
  void check_rows(const ChoiceWalk& walk, const std::vector<NodeIndex>& choice) {
    std::vector<bool> chosen(flat_.size(), false);
    for (const ClassIndex c : walk.order) chosen[choice[c]] = true;
    for (const DualAscent::Row& row : dual_.rows) {
      double sum = 0;
      for (const auto& [candidate, charge] : row.charges) sum += chosen[candidate] ? charge : 0;
      EXPECT_GE(sum, row.price - kRounding);
    }
  }

  FlatCore flat_;
  DualAscent dual_;
  double best_ = std::numeric_limits<double>::infinity();
};

TEST(DualAscent, ItsBoundsAndRowsHoldForAllChoicesOfRandomGraphs) {
  base::Random random(21);
  int solvable = 0;
  int tight = 0;
  for (int trial = 0; trial < 1500; ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    const RandomView view =
        random_view(random, 7, {.nodes = 3, .arity = 3, .backwards = trial % 2 == 0 ? 0.2 : 0.5});
    const auto core = Core::of({view.graph, view.costs});
    if (!core.ok()) continue;
    const AgainstAllChoices compared(
        *core,
        {.refresh = trial % 3, .seed = static_cast<std::uint64_t>(trial % 5), .row_price = 2});
    solvable += 1;
    tight += compared.bound() >= compared.best() - kRounding ? 1 : 0;
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(solvable, 700);
  EXPECT_GT(tight, solvable / 2);
}

// a or b must be chosen for the root, either has the other within reach for nothing, and only a
// leaf of cost 5 ends the circle: the linear relaxation lets the circle hold itself up at no cost.
TEST(DualAscent, SeesThatCirclesDoNotHoldThemselvesUp) {
  constexpr ClassIndex kA = 0;
  constexpr ClassIndex kB = 1;
  constexpr ClassIndex kC = 2;
  constexpr ClassIndex kLeaf = 3;
  Core core;
  core.classes = {{{0, {kB}, {}}, {1, {kLeaf}, {}}},
                  {{0, {kC}, {}}},
                  {{0, {kA}, {}}, {3, {kLeaf}, {}}},
                  {{5, {}, {}}}};
  core.required = {true, false, false, false};
  const FlatCore flat(core);
  EXPECT_EQ(dual_ascent(core, flat, {}).bound, 6);
}

}  // namespace
}  // namespace egret::extract
