// SPDX-License-Identifier: Apache-2.0
#include "extract/milp_process.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <utility>

#include "base/timer.h"

namespace egret::extract {
namespace {

// Does what it is told when asked to solve.
class ToldSolver final : public MilpSolver {
 public:
  explicit ToldSolver(std::function<base::Result<MilpAnswer>()> solve) : solve_(std::move(solve)) {}
  base::Status load(const Milp&) override { return base::ok(); }
  base::Status add(const Milp::Row&, double) override { return base::ok(); }
  base::Status forbid(int) override { return base::ok(); }
  void start_from(std::span<const double>) override {}
  void set_gap(double) override {}
  base::Result<LpAnswer> relax(double, double) override { return LpAnswer{}; }
  base::Result<MilpAnswer> solve(double) override { return solve_(); }

 private:
  std::function<base::Result<MilpAnswer>()> solve_;
};

TEST(MilpProcess, PassesAnswersOn) {
  ToldSolver solver([] {
    MilpAnswer answer;
    answer.proven = true;
    answer.bound = 2.5;
    answer.values.assign(100'000, 0.25);
    return base::Result<MilpAnswer>(answer);
  });
  const auto answer = solve_in_process(solver, 10, {});
  ASSERT_TRUE(answer.ok());
  EXPECT_FALSE(answer->lost);
  EXPECT_TRUE(answer->proven);
  EXPECT_FALSE(answer->infeasible);
  EXPECT_EQ(answer->bound, 2.5);
  EXPECT_EQ(answer->values, std::vector<double>(100'000, 0.25));
}

TEST(MilpProcess, OutlivesASolverThatCrashesOrFails) {
  ToldSolver crash([]() -> base::Result<MilpAnswer> { std::_Exit(139); });
  EXPECT_TRUE(solve_in_process(crash, 10, {})->lost);
  ToldSolver failure([]() -> base::Result<MilpAnswer> { return base::internal_error("refused"); });
  EXPECT_TRUE(solve_in_process(failure, 10, {})->lost);
}

TEST(MilpProcess, DoesNotWaitForASolverThatRunsOn) {
  ToldSolver endless([]() -> base::Result<MilpAnswer> {
    while (true) ::sleep(1);
  });
  const base::Stopwatch watch;
  EXPECT_TRUE(solve_in_process(endless, 0.2, {})->lost);
  EXPECT_TRUE(solve_in_process(endless, 1000, [&] { return watch.seconds() > 1; })->lost);
  EXPECT_LT(watch.seconds(), 30);
}

}  // namespace
}  // namespace egret::extract
