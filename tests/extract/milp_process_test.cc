// SPDX-License-Identifier: Apache-2.0
#include "extract/milp/milp_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <utility>

#include "base/timer.h"
#include "extract/milp/core_ilp.h"

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
  const auto solve = [](double) {
    MilpAnswer answer;
    answer.proven = true;
    answer.bound = 2.5;
    answer.values.assign(100'000, 0.25);
    return base::Result<MilpAnswer>(answer);
  };
  const auto answer = solve_in_process(solve, 10, {});
  ASSERT_TRUE(answer.ok());
  EXPECT_FALSE(answer->lost);
  EXPECT_TRUE(answer->proven);
  EXPECT_FALSE(answer->infeasible);
  EXPECT_EQ(answer->bound, 2.5);
  EXPECT_EQ(answer->values, std::vector<double>(100'000, 0.25));
}

TEST(MilpProcess, OutlivesASolverThatCrashesOrFails) {
  const auto crash = [](double) -> base::Result<MilpAnswer> { std::_Exit(139); };
  const auto ended = solve_in_process(crash, 10, {});
  EXPECT_TRUE(ended->lost);
  EXPECT_EQ(ended->fate, "ended without an answer (exit code 139)");
  const auto kill = [](double) -> base::Result<MilpAnswer> {
    ::raise(SIGKILL);
    return MilpAnswer{};
  };
  EXPECT_EQ(solve_in_process(kill, 10, {})->fate, "crashed (signal 9)");
  const auto failure = [](double) -> base::Result<MilpAnswer> {
    return base::internal_error("refused");
  };
  const auto failed = solve_in_process(failure, 10, {});
  EXPECT_TRUE(failed->lost);
  EXPECT_EQ(failed->fate, "failed: refused");
}

// The known answer stands, and the caller is told.
TEST(MilpProcess, ALostSolverIsNoted) {
  Core core;
  core.classes = {{{-1, {1}, {}}, {2, {}, {}}}, {{3, {}, {}}, {1, {}, {}}}};
  core.required = {true, false};
  CoreAnswer known;
  known.chosen = {0, 1};
  known.cost = 0;
  ToldSolver kill([]() -> base::Result<MilpAnswer> {
    ::raise(SIGKILL);
    return MilpAnswer{};
  });
  const auto answer = solve_by_ilp(core, kill, known, base::Deadline::after(10), {});
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->chosen, known.chosen);
  EXPECT_FALSE(answer->proven);
  EXPECT_EQ(answer->notes, std::vector<std::string>{"crashed (signal 9)"});
}

TEST(MilpProcess, DoesNotWaitForASolverThatRunsOn) {
  const auto endless = [](double) -> base::Result<MilpAnswer> {
    while (true) ::sleep(1);
  };
  const base::Stopwatch watch;
  const auto late = solve_in_process(endless, 0.2, {});
  EXPECT_TRUE(late->lost);
  EXPECT_EQ(late->fate, "ran past its time and was ended");
  const auto stopped = solve_in_process(endless, 1000, [&] { return watch.seconds() > 1; });
  EXPECT_TRUE(stopped->lost);
  EXPECT_EQ(stopped->fate, "");  // as the caller wished
  EXPECT_LT(watch.seconds(), 30);
}

}  // namespace
}  // namespace egret::extract
