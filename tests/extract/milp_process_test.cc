// SPDX-License-Identifier: Apache-2.0
#include "extract/milp/milp_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/timer.h"
#include "extract/milp/core_ilp.h"
#include "tests/address_space.h"

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

// Exceptions end in the process that they are thrown in: nothing behind solve_in_process() runs
// twice.
TEST(MilpProcess, ExceptionsEndWithTheProcess) {
  const auto hungry = [](double) -> base::Result<MilpAnswer> { throw std::bad_alloc(); };
  const pid_t here = ::getpid();
  EXPECT_EQ(solve_in_process(hungry, 10, {})->fate, "failed: not enough memory");
  const auto broken = [](double) -> base::Result<MilpAnswer> { throw std::runtime_error("odd"); };
  EXPECT_EQ(solve_in_process(broken, 10, {})->fate, "ended without an answer (exit code 1)");
  const auto terminated = [](double) -> base::Result<MilpAnswer> { std::terminate(); };
  EXPECT_EQ(solve_in_process(terminated, 10, {})->fate, "ended without an answer (exit code 1)");
  ASSERT_EQ(::getpid(), here);
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

#ifdef EGRET_LIMITS_ADDRESS_SPACE

// OpenBLAS, which CBC brings along, would ask for its buffers without an end.
TEST(MilpProcess, CbcIsNotLoadedWhereItDoesNotFit) {
  const auto cbc = std::ranges::find(milp_solvers(), "cbc", &MilpSolverRow::name);
  if (cbc == milp_solvers().end()) GTEST_SKIP() << "this build lacks CBC";
  const auto fate_within = [&](std::size_t bytes) {
    limit_address_space(bytes);
    const auto solver = cbc->make();
    const Milp milp{.columns = {{.cost = 2}, {.cost = 1}},
                    .rows = {{.lower = 1, .columns = {0, 1}, .values = {1, 1}}}};
    if (!solver->load(milp).ok()) return std::string("not loaded");
    const auto answer =
        solve_in_process([&](double seconds) { return solver->solve(seconds); }, 60, {});
    if (answer->proven && answer->values == std::vector<double>{0, 1}) return std::string("proven");
    return answer->fate;
  };
  const auto exit_code = [&](std::size_t bytes, const std::string& fate) {
    ::_exit(fate_within(bytes) == fate ? 0 : 1);
  };
  EXPECT_EXIT(exit_code(std::size_t{64} << 20, "failed: not enough memory to load CBC"),
              testing::ExitedWithCode(0), "");
  EXPECT_EXIT(exit_code(std::size_t{64} << 30, "proven"), testing::ExitedWithCode(0), "");
}

#endif

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
