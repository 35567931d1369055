// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <queue>
#include <string>
#include <tuple>

#include "base/random.h"
#include "base/timer.h"
#include "extract/recompute/baselines.h"
#include "extract/recompute/coarsen.h"
#include "extract/recompute/linear_bound.h"
#include "extract/recompute/methods.h"
#include "extract/recompute/order_search.h"
#include "extract/recompute/stage_program.h"
#include "extract/recompute/wait_program.h"
#include "tests/extract/needs_solver.h"

namespace egret::extract {
namespace {

using ::testing::HasSubstr;

// f0 -> f1 -> ... and backwards: b_k reads b_{k+1} and the forward value k.
RecomputeProblem chain(int layers) {
  RecomputeProblem problem;
  for (int k = 0; k < layers; ++k) {
    problem.tasks.push_back({.cost = 1, .bytes = 10, .forward = true});
    if (k > 0) problem.tasks.back().inputs = {k - 1};
  }
  for (int k = layers - 1; k >= 0; --k) {
    problem.tasks.push_back({.cost = 2, .bytes = 10});
    if (k == layers - 1) {
      problem.tasks.back().inputs = {k};
    } else {
      problem.tasks.back().inputs = {k, static_cast<int>(problem.size()) - 2};
    }
  }
  problem.tasks.back().result = true;
  return problem;
}

RecomputeProblem random_problem(base::Random& random, int tasks) {
  RecomputeProblem problem;
  for (int i = 0; i < tasks; ++i) {
    RecomputeTask task{.cost = static_cast<double>(random.between(1, 9)),
                       .bytes = random.between(0, 8),
                       .scratch = random.chance(0.2) ? random.between(1, 4) : 0,
                       .forward = i < tasks / 2};
    for (int k = 0; k < i; ++k) {
      if (task.inputs.size() < 3 && random.chance(k == i - 1 ? 0.8 : 0.3)) task.inputs.push_back(k);
    }
    task.result = i == tasks - 1 || random.chance(0.1);
    problem.tasks.push_back(std::move(task));
  }
  return problem;
}

// Most values may leave; copies cost a little less than computations.
RecomputeProblem with_copies(RecomputeProblem problem, base::Random& random) {
  for (RecomputeTask& task : problem.tasks) {
    if (random.chance(0.3)) continue;
    task.copy_out = static_cast<double>(random.between(0, 2));
    task.copy_back = static_cast<double>(random.between(0, 2));
  }
  return problem;
}

// The least cost by exhaustive search over what is in memory, and what was copied out (Dijkstra);
// -1 where nothing fits. First computations come in order. `stages`: between two of them, tasks
// come in order too, each at most once, as in Checkmate's program.
double exhaustive(const RecomputeProblem& problem, std::int64_t limit, bool stages) {
  // First task left, first of the stage, in memory, copied out.
  using State = std::tuple<int, int, unsigned, unsigned>;
  const int n = static_cast<int>(problem.size());
  std::map<State, double> best;
  std::priority_queue<std::pair<double, State>, std::vector<std::pair<double, State>>,
                      std::greater<>>
      open;
  const auto reach = [&](const State& state, double cost) {
    const auto [found, is_new] = best.try_emplace(state, cost);
    if (!is_new && found->second <= cost) return;
    found->second = cost;
    open.emplace(cost, state);
  };
  reach({0, 0, 0, 0}, 0);
  while (!open.empty()) {
    const auto [cost, state] = open.top();
    open.pop();
    if (cost > best.at(state)) continue;
    const auto [next, first, live, out] = state;
    bool done = next == n;
    for (int i = 0; i < n; ++i)
      done = done && (!problem.tasks[i].result || ((live >> i) & 1U) != 0);
    if (done) return cost;
    for (int i = 0; i < n; ++i) {
      const bool is_there = ((live >> i) & 1U) != 0;
      const bool is_out = ((out >> i) & 1U) != 0;
      const RecomputeTask& task = problem.tasks[i];
      if (is_there) reach({next, first, live & ~(1U << i), out}, cost);
      if (is_there && !is_out && task.may_leave())
        reach({next, first, live, out | (1U << i)}, cost + task.copy_out);
      if (is_there || !is_out) continue;
      std::int64_t memory = task.bytes;
      for (int k = 0; k < n; ++k) memory += ((live >> k) & 1U) != 0 ? problem.tasks[k].bytes : 0;
      if (memory <= limit) reach({next, first, live | (1U << i), out}, cost + task.copy_back);
    }
    // Behind the last first computation, results may be computed again.
    for (int i = stages ? first : 0; i <= next && i < n; ++i) {
      const RecomputeTask& task = problem.tasks[i];
      std::int64_t memory = task.bytes + task.scratch;
      bool ready = ((live >> i) & 1U) == 0;
      for (int k = 0; k < n; ++k) memory += ((live >> k) & 1U) != 0 ? problem.tasks[k].bytes : 0;
      for (const int input : task.inputs) ready = ready && ((live >> input) & 1U) != 0;
      if (!ready || memory > limit) continue;
      const bool first_time = i == next;
      if (stages && next == n) continue;
      reach({next + (first_time ? 1 : 0), first_time || !stages ? 0 : i + 1, live | (1U << i), out},
            cost + task.cost);
    }
  }
  return -1;
}

TEST(Recompute, StagesFindTheOptimumOfExhaustiveSearch) {
  SKIP_WITHOUT_MILP_SOLVER();
  base::Random random(3);
  int dearer = 0, infeasible = 0;
  for (int trial = 0; trial < 80; ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    const RecomputeProblem problem = random_problem(random, 4 + trial % 4);
    const std::int64_t limit = least_memory(problem) + random.between(0, 3);
    const double best = exhaustive(problem, limit, true);
    const StageAnswer found = solve_stages(problem, limit, 30);
    if (best < 0) {
      ++infeasible;
      EXPECT_TRUE(found.infeasible);
      EXPECT_FALSE(found.schedule);
      continue;
    }
    ASSERT_TRUE(found.schedule);
    EXPECT_TRUE(found.proven);
    EXPECT_NEAR(found.schedule->cost, best, 1e-9);
    EXPECT_NEAR(found.bound, best, 1e-3);
    EXPECT_TRUE(check_schedule(problem, *found.schedule).ok());
    EXPECT_LE(found.schedule->peak, limit);
    dearer += best > problem.least_cost() ? 1 : 0;
  }
  EXPECT_GT(dearer, 10);
  EXPECT_GT(infeasible, 0);
}

TEST(Recompute, SearchLiesBetweenItsBoundsAndCheckmatesOptimum) {
  SKIP_WITHOUT_MILP_SOLVER();
  base::Random random(4);
  int dearer = 0, exact = 0, trials = 0;
  for (int trial = 0; trial < 60; ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    const RecomputeProblem problem = random_problem(random, 5 + trial % 4);
    const ReorderedProblem ordered = reordered(problem, frugal_task_order(problem));
    const std::int64_t limit = least_memory(problem) + random.between(0, 4);
    const double stages = exhaustive(ordered.problem, limit, true);
    const double any = exhaustive(ordered.problem, limit, false);
    if (stages < 0) continue;
    const auto found = recompute(problem, limit, {.method = "search", .seconds = 2});
    ASSERT_TRUE(found.ok()) << found.status().message();
    ASSERT_TRUE(found->schedule);
    EXPECT_TRUE(check_schedule(problem, *found->schedule).ok());
    EXPECT_LE(found->schedule->peak, limit);
    EXPECT_GE(found->schedule->cost, any - 1e-9);
    EXPECT_LE(found->schedule->cost, stages + 1e-9);
    EXPECT_LE(found->bound, any + 1e-6);
    EXPECT_LE(found->proven_bound, found->bound);
    if (found->proven) {
      EXPECT_NEAR(found->schedule->cost, any, 1e-6);
    }
    // Without the help of the program.
    const auto alone = search_orders(ordered.problem, limit, {}, {.seconds = 2, .rounds = 300});
    exact += alone && alone->cost <= stages + 1e-9 ? 1 : 0;
    dearer += any > problem.least_cost() ? 1 : 0;
    ++trials;
  }
  EXPECT_GT(dearer, 10);
  EXPECT_GE(exact, trials * 9 / 10);
}

TEST(Recompute, BoundsHoldForAllSchedules) {
  SKIP_WITHOUT_MILP_SOLVER();
  base::Random random(5);
  int tight = 0;
  for (int trial = 0; trial < 60; ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    const RecomputeProblem problem = random_problem(random, 5 + trial % 4);
    const std::int64_t limit = least_memory(problem) + random.between(0, 4);
    const double any = exhaustive(problem, limit, false);
    if (any < 0) continue;
    const WaitAnswer waits = solve_waits(problem, limit, 10);
    EXPECT_LE(waits.bound, any + 1e-6);
    tight += waits.bound > problem.least_cost() + 1e-6 ? 1 : 0;
    ASSERT_TRUE(waits.order);
    EXPECT_TRUE(schedule_of(problem, *waits.order).ok());
  }
  EXPECT_GT(tight, 10);
}

TEST(Recompute, CopiesLieBetweenTheirBoundsAndExhaustiveSearch) {
  SKIP_WITHOUT_MILP_SOLVER();
  base::Random random(14);
  int copied = 0, both = 0, cheaper = 0, tight = 0, exact = 0, trials = 0;
  for (int trial = 0; trial < 200; ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    const RecomputeProblem plain = random_problem(random, 5 + trial % 3);
    const RecomputeProblem problem = with_copies(plain, random);
    const ReorderedProblem ordered = reordered(problem, frugal_task_order(problem));
    const std::int64_t limit = least_memory(problem) + random.between(0, 2);
    const double any = exhaustive(ordered.problem, limit, false);
    const auto found = recompute(problem, limit, {.seconds = 2});
    ASSERT_TRUE(found.ok()) << found.status().message();
    if (any < 0) {
      EXPECT_FALSE(found->schedule);
      continue;
    }
    ++trials;
    EXPECT_LE(found->bound, any + 1e-6);
    EXPECT_LE(found->proven_bound, found->bound);
    ASSERT_TRUE(found->schedule);
    EXPECT_TRUE(check_schedule(problem, *found->schedule).ok());
    EXPECT_LE(found->schedule->peak, limit);
    EXPECT_GE(found->schedule->cost, any - 1e-9);
    if (found->proven) {
      EXPECT_NEAR(found->schedule->cost, any, 1e-6);
    }
    exact += found->schedule->cost <= any + 1e-6 ? 1 : 0;
    tight += found->bound > problem.least_cost() + 1e-6 ? 1 : 0;
    const double alone =
        exhaustive(reordered(plain, frugal_task_order(plain)).problem, limit, false);
    cheaper += alone < 0 || any < alone - 1e-9 ? 1 : 0;
    copied += found->schedule->copies() > 0 ? 1 : 0;
    both += found->schedule->copies() > 0 && found->schedule->recomputations(problem) > 0 ? 1 : 0;
    // Copies that cost nothing leave nothing to compute again.
    RecomputeProblem free = problem;
    for (RecomputeTask& task : free.tasks) task.copy_out = task.copy_back = 0;
    const auto nothing = recompute(free, limit, {.seconds = 2});
    ASSERT_TRUE(nothing.ok() && nothing->schedule);
    EXPECT_DOUBLE_EQ(nothing->schedule->cost, problem.least_cost());
  }
  EXPECT_GT(copied, 8);
  EXPECT_GT(both, 2);
  EXPECT_GT(cheaper, 8);
  EXPECT_GT(tight, 15);
  EXPECT_GE(exact, trials * 9 / 10);
}

// Two values of ten bytes wait for each other; the last task reads both.
TEST(Recompute, CopiesCostWhatTheySay) {
  RecomputeProblem problem;
  problem.tasks = {{.cost = 9, .bytes = 10, .copy_out = 2, .copy_back = 3},
                   {.cost = 1, .bytes = 10},
                   {.cost = 1, .bytes = 10, .inputs = {1}},
                   {.cost = 1, .bytes = 0, .inputs = {0, 2}, .result = true}};
  const auto schedule = schedule_of(problem, std::vector<int>{0, 1, 2, back(0), 3});
  ASSERT_TRUE(schedule.ok()) << schedule.status().message();
  ASSERT_TRUE(check_schedule(problem, *schedule).ok());
  EXPECT_EQ(schedule->peak, 20);
  EXPECT_DOUBLE_EQ(schedule->cost, 12 + 2 + 3);
  EXPECT_EQ(schedule->copies(), 1U);
  EXPECT_EQ(schedule->recomputations(problem), 0U);
  EXPECT_EQ(schedule->order(), (std::vector<int>{0, 1, 2, back(0), 3}));
  const auto complaint = [&](const std::function<void(RecomputeSchedule&)>& change) {
    RecomputeSchedule broken = *schedule;
    change(broken);
    return check_schedule(problem, broken).message();
  };
  using S = RecomputeSchedule;
  EXPECT_THAT(complaint([](S& s) { s.steps[0].out = false; }), HasSubstr("was not copied out"));
  EXPECT_THAT(complaint([](S& s) { s.steps[1].out = true; }), HasSubstr("copies out value 1"));
  EXPECT_THAT(complaint([](S& s) { s.steps[3].back = false; }), HasSubstr("cost"));
  EXPECT_THAT(complaint([](S& s) { s.cost -= 3; }), HasSubstr("cost"));
  EXPECT_FALSE(schedule_of(problem, std::vector<int>{back(0), 0, 1, 2, 3}).ok());
  EXPECT_FALSE(schedule_of(problem, std::vector<int>{0, 1, back(1), 2, 3}).ok());
  RecomputeProblem negative = problem;
  negative.tasks[0].copy_back = -1;
  EXPECT_FALSE(negative.check().ok());
}

TEST(Recompute, DualsProveTheRelaxation) {
  // min x + y where x + y >= 1, x <= 1, y <= 1: the dual 1 proves 1, a dual of 2 less.
  const Milp milp{.columns = {{.cost = 1}, {.cost = 1}},
                  .rows = {{.lower = 1, .columns = {0, 1}, .values = {1, 1}}}};
  EXPECT_DOUBLE_EQ(proven_bound(milp, {1}), 1);
  EXPECT_DOUBLE_EQ(proven_bound(milp, {2}), 0);
  EXPECT_DOUBLE_EQ(proven_bound(milp, {0}), 0);
}

TEST(Recompute, HeuristicsKeepToTheLimitOfChains) {
  const RecomputeProblem problem = chain(16);
  const auto all = recompute(problem, 1 << 20, {.method = "keep-all"});
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->keep_all, 170);  // 16 values and a gradient
  EXPECT_EQ(all->schedule->cost, problem.least_cost());
  for (const char* method : {"segments", "dtr", "search"}) {
    const auto found = recompute(problem, 90, {.method = method, .seconds = 3});
    ASSERT_TRUE(found.ok()) << found.status().message();
    ASSERT_TRUE(found->schedule) << method;
    EXPECT_LE(found->schedule->peak, 90);
    EXPECT_GT(found->schedule->cost, problem.least_cost());
    EXPECT_GE(found->schedule->cost, found->bound - 1e-6);
  }
  // A chain within half of the memory needs each forward value at most twice.
  const auto found = recompute(problem, 90, {.seconds = 3});
  EXPECT_LE(found->schedule->cost, problem.least_cost() + 16);
  EXPECT_FALSE(recompute(problem, 90, {.method = "keep-all"})->schedule);
}

// An order that computes each task, and some of them again.
std::vector<int> random_order(const RecomputeProblem& problem, base::Random& random) {
  std::vector<int> order;
  for (int i = 0; i < static_cast<int>(problem.size()); ++i) {
    while (i > 0 && random.chance(0.3)) order.push_back(static_cast<int>(random.below(i)));
    order.push_back(i);
  }
  return order;
}

TEST(Recompute, OrdersOfCoarseTasksAreOrdersOfTheirParts) {
  base::Random random(6);
  int joined = 0, equal = 0;
  for (int trial = 0; trial < 300; ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    const RecomputeProblem problem = random_problem(random, 8);
    const CoarseProblem coarse = coarsened(problem, 3);
    ASSERT_TRUE(coarse.problem.check().ok());
    ASSERT_EQ(coarse.parts.size(), coarse.problem.size());
    joined += coarse.problem.size() < problem.size() ? 1 : 0;
    const std::vector<int> order = random_order(coarse.problem, random);
    std::vector<int> fine;
    for (const int task : order)
      fine.insert(fine.end(), coarse.parts[task].begin(), coarse.parts[task].end());
    const auto coarse_schedule = schedule_of(coarse.problem, order);
    const auto schedule = schedule_of(problem, fine);
    ASSERT_TRUE(coarse_schedule.ok() && schedule.ok()) << schedule.status().message();
    EXPECT_NEAR(schedule->cost, coarse_schedule->cost, 1e-9);
    EXPECT_LE(schedule->peak, coarse_schedule->peak);
    equal += schedule->peak == coarse_schedule->peak ? 1 : 0;
  }
  EXPECT_GT(joined, 200);
  EXPECT_GT(equal, 50);                                  // it does not merely overestimate
  EXPECT_EQ(coarsened(chain(4), 1).problem.size(), 5U);  // forward values have two readers, or one
                                                         // of the other pass
}

TEST(Recompute, BoundsOfStagesAreNoBoundsOfAllSchedules) {
  SKIP_WITHOUT_MILP_SOLVER();
  base::Random random(9);
  int apart = 0;
  for (int trial = 0; trial < 120 && apart < 3; ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    const RecomputeProblem problem = random_problem(random, 7);
    const ReorderedProblem ordered = reordered(problem, frugal_task_order(problem));
    const std::int64_t limit = least_memory(problem) + random.between(0, 3);
    const double any = exhaustive(ordered.problem, limit, false);
    const double stages = exhaustive(ordered.problem, limit, true);
    if (any < 0 || (stages >= 0 && stages <= any + 1e-9)) continue;
    ++apart;
    const auto found = recompute(problem, limit, {.method = "checkmate"});
    ASSERT_TRUE(found.ok());
    EXPECT_LE(found->bound, any + 1e-9);
    EXPECT_EQ(found->none_in_stages, stages < 0);
    if (stages < 0) {
      EXPECT_EQ(outcome_of(*found), "none in stages");
      continue;
    }
    EXPECT_NEAR(found->stage_bound, stages, 1e-3);
    EXPECT_GT(found->stage_bound, any);
  }
  EXPECT_EQ(apart, 3);
}

TEST(Recompute, RelaxationsWithoutValuesAreNoLackOfASolver) {
  SKIP_WITHOUT_MILP_SOLVER();
  const Milp none{.columns = {{.cost = 1}}, .rows = {{.lower = 2, .columns = {0}, .values = {1}}}};
  const Milp some{.columns = {{.cost = 1}}, .rows = {{.lower = 1, .columns = {0}, .values = {1}}}};
  const ProgramAnswer relaxed = solve_program(some, Solves::kRelaxation, 10, {});
  const SolverEnd without = solve_program(none, Solves::kRelaxation, 10, {}).end;
  EXPECT_EQ(without, relaxed.relaxed.empty() ? SolverEnd::kUnavailable : SolverEnd::kDone);
  EXPECT_EQ(solve_program(some, Solves::kProgram, 0, {}).end, SolverEnd::kTime);
}

TEST(Recompute, CheckmateStartsFromSchedulesThatAreInStages) {
  SKIP_WITHOUT_MILP_SOLVER();
  const RecomputeProblem problem = chain(8);
  for (const std::int64_t limit : {50, 60, 70}) {
    const auto dtr = dtr_schedule(problem, limit, DtrCost::kLocal);
    ASSERT_TRUE(dtr);
    const auto staged = order_in_stages(problem, limit, dtr->order());
    ASSERT_TRUE(staged) << limit;
    const auto schedule = schedule_of(problem, *staged);
    ASSERT_TRUE(schedule.ok());
    EXPECT_LE(schedule->peak, limit);
    EXPECT_LE(schedule->cost, dtr->cost + 1e-9);
    const StageAnswer cold = solve_stages(problem, limit, 60);
    const StageAnswer begun = solve_stages(problem, limit, 60, {}, dtr->order());
    ASSERT_TRUE(cold.proven && begun.proven);
    EXPECT_NEAR(cold.schedule->cost, begun.schedule->cost, 1e-9);
  }
  // Too much memory; and computations behind the last stage.
  EXPECT_FALSE(order_in_stages(problem, 50, reordered(problem, frugal_task_order(problem)).origin));
  std::vector<int> longer = dtr_schedule(problem, 90, DtrCost::kLocal)->order();
  longer.push_back(0);
  EXPECT_FALSE(order_in_stages(problem, 90, longer));
}

// Two segments of two values each. The second one stays, as the backward pass reads it at once, and
// so does its input; the first value alone is computed again.
TEST(Recompute, TheLastSegmentIsKept) {
  const RecomputeProblem problem = chain(4);
  const auto found = segment_schedule(problem, 40);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->recomputations(problem), 1U);
  EXPECT_EQ(found->peak, 40);
}

TEST(Recompute, MethodsHeedRequestsToStop) {
  base::Random random(12);
  const RecomputeProblem problem = random_problem(random, 2000);
  const std::int64_t limit = least_memory(problem) * 2;
  for (const RecomputeMethod& method : recompute_methods()) {
    if (method.name == "checkmate" || method.name == "checkmate-lp" ||
        method.name == "checkmate-start")
      continue;  // for tens of tasks: the program alone takes minutes to write
    SCOPED_TRACE(method.name);
    const base::Stopwatch watch;
    const auto found = recompute(
        problem, limit, {.method = std::string(method.name), .seconds = 600, .should_stop = [&] {
                           return watch.seconds() > 0.5;
                         }});
    ASSERT_TRUE(found.ok());
    EXPECT_LT(watch.seconds(), 20);
  }
}

TEST(Recompute, TasksThatNeedMoreThanTheLimitAreProvenImpossible) {
  const auto found = recompute(chain(4), 25, {});
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->impossible);
  EXPECT_FALSE(found->schedule);
  EXPECT_FALSE(recompute(chain(4), 100, {.method = "none such"}).ok());
}

TEST(Recompute, UpdatesMoveToTheirGradients) {
  // Three gradients and then three updates without memory of their own.
  RecomputeProblem problem;
  for (int i = 0; i < 3; ++i) problem.tasks.push_back({.cost = 1, .bytes = 10});
  for (int i = 0; i < 3; ++i) problem.tasks.push_back({.cost = 1, .inputs = {i}, .result = true});
  EXPECT_EQ(frugal_task_order(problem), (std::vector<int>{0, 3, 1, 4, 2, 5}));
}

TEST(Recompute, BrokenSchedulesAreRejected) {
  const RecomputeProblem problem = chain(3);  // 0 1 2 | 3(2) 4(1,3) 5(0,4)
  const auto good = schedule_of(problem, std::vector<int>{0, 1, 2, 3, 1, 4, 0, 5});
  ASSERT_TRUE(good.ok());
  ASSERT_TRUE(check_schedule(problem, *good).ok()) << check_schedule(problem, *good).message();
  const auto complaint = [&](const std::function<void(RecomputeSchedule&)>& change) {
    RecomputeSchedule broken = *good;
    change(broken);
    return check_schedule(problem, broken).message();
  };
  using S = RecomputeSchedule;
  EXPECT_THAT(complaint([](S& s) { s.peak -= 1; }), HasSubstr("peak"));
  EXPECT_THAT(complaint([](S& s) { s.cost += 1; }), HasSubstr("cost"));
  EXPECT_THAT(complaint([](S& s) { s.steps.erase(s.steps.begin() + 2); }),
              HasSubstr("reads value"));
  EXPECT_THAT(complaint([](S& s) { s.steps.pop_back(); }), HasSubstr("leaves out task 5"));
  EXPECT_THAT(complaint([](S& s) { s.steps[0].freed = {0}; }), HasSubstr("not in memory"));
  EXPECT_THAT(complaint([](S& s) { s.steps[1].freed = {2}; }), HasSubstr("frees value 2"));
  EXPECT_THAT(complaint([](S& s) { s.steps.insert(s.steps.begin() + 1, {.task = 0}); }),
              HasSubstr("which is in memory"));
  EXPECT_THAT(complaint([](S& s) { s.steps.back().freed.push_back(5); }),
              HasSubstr("frees the result 5"));
  EXPECT_THAT(complaint([](S& s) { s.steps[0].task = 9; }), HasSubstr("does not exist"));
  EXPECT_FALSE(schedule_of(problem, std::vector<int>{1, 0, 2, 3, 4, 5}).ok());
  EXPECT_FALSE(schedule_of(problem, std::vector<int>{0, 1, 2, 3, 4}).ok());
  RecomputeProblem backwards = problem;
  backwards.tasks[0].inputs = {3};
  EXPECT_FALSE(recompute(backwards, 100, {}).ok());
}

}  // namespace
}  // namespace egret::extract
