// SPDX-License-Identifier: Apache-2.0
#include "parallel/plan/plan_searches.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <future>
#include <map>
#include <string>
#include <thread>

#include "base/stop.h"
#include "base/timer.h"
#include "tests/parallel/model.h"

namespace egret::parallel {
namespace {

std::map<std::string_view, FoundPlan> searched(const ir::Graph& graph, std::string_view mesh) {
  ParallelPlanOptions options;
  options.searches = true;
  const auto plan = plan_of(graph, machine_of(mesh), options);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  std::map<std::string_view, FoundPlan> found;
  for (const FoundPlan& one : plan->searches) found[one.search] = one;
  return found;
}

// One operator after the other: all that look everywhere agree.
TEST(PlanSearches, AgreeOnAChain) {
  for (const char* mesh : {"x=2", "x=4", "x=2,y=2"}) {
    auto found = searched(mlp(8, 256, 512), mesh);
    ASSERT_EQ(found.size(), 5U);
    EXPECT_TRUE(found["exhaustive"].finished);
    EXPECT_NEAR(found["exhaustive"].time_s, found["egret"].time_s, 1e-12) << mesh;
    EXPECT_NEAR(found["chain"].time_s, found["egret"].time_s, 1e-12) << mesh;
    EXPECT_GE(found["mcmc"].time_s, found["egret"].time_s - 1e-12) << mesh;
    EXPECT_GE(found["best-first"].time_s, found["egret"].time_s - 1e-12) << mesh;
    EXPECT_GT(found["mcmc"].plans, 1000);
  }
}

// A value that is used twice: who pays for each use may choose worse.
TEST(PlanSearches, NoneIsBetterThanTheIntegerProgram) {
  Model m;
  const ir::Value x = m.input("x", {16, 64});
  ir::Value y = m("matmul", {x, m.weight("a", {64, 64})});
  const ir::Value left = m("relu", {m("matmul", {y, m.weight("b", {64, 64})})});
  const ir::Value right = m("tanh", {m("matmul", {y, m.weight("c", {64, 64})})});
  y = m("matmul", {m("add", {left, right}), m.weight("d", {64, 64})});
  auto found = searched(m.finish(m("add", {y, x})), "x=4");
  EXPECT_TRUE(found["exhaustive"].finished);
  for (const auto& [name, plan] : found)
    EXPECT_GE(plan.time_s, found["egret"].time_s - 1e-12) << name;
  EXPECT_NEAR(found["exhaustive"].time_s, found["egret"].time_s, 1e-12);
}

// A rule that adds a class to itself: no search waits for the end of a cycle, or takes one for a
// plan.
TEST(PlanSearches, EndOnCyclicClasses) {
  Model m;
  ir::Value y = m.input("x", {16, 64});
  y = m("relu", {m("relu", {m("matmul", {y, m.weight("a", {64, 64})})})});
  const ir::Graph graph = m.finish(m("matmul", {y, m.weight("b", {64, 64})}));
  ParallelPlanOptions options;
  options.searches = true;
  options.rules = "relu-of-relu";
  const auto plan = plan_of(graph, machine_of("x=2"), options);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  for (const FoundPlan& one : plan->searches)
    EXPECT_GE(one.time_s, plan->time_s - 1e-12) << one.search;
}

// Each search's plan is written and compared with the program; it takes the time that was found.
TEST(PlanSearches, MakeThePlanOnRequest) {
  Model m;
  const ir::Value x = m.input("x", {16, 64});
  const ir::Value y = m("matmul", {x, m.weight("a", {64, 256})});
  const ir::Value sum = m("add", {m("relu", {y}), m("tanh", {y})});
  const ir::Graph graph = m.finish(m("matmul", {sum, m.weight("b", {256, 64})}));
  for (const char* mesh : {"x=4", "x=2,y=2"}) {
    auto found = searched(graph, mesh);
    for (const PlanSearchRow& search : plan_searches()) {
      ParallelPlanOptions options;
      options.search = search.name;
      const auto plan = plan_of(graph, machine_of(mesh), options);
      ASSERT_TRUE(plan.ok()) << search.name << ": " << plan.status().message();
      EXPECT_NEAR(plan->time_s, found[search.name].time_s, 1e-12) << search.name << " " << mesh;
      EXPECT_EQ(plan->check, PlanCheck::kPassed) << search.name;
      EXPECT_LE(plan->bound_s, plan->time_s);
    }
  }
  ParallelPlanOptions options;
  options.search = "annealing";
  EXPECT_EQ(plan_of(graph, machine_of("x=2"), options).status().message(),
            "unknown search 'annealing'");
}

// A walk over many values takes seconds on any machine. Where planning ends before a later request,
// nothing was asked of it.
TEST(PlanSearches, EndWhenTheyAreAskedTo) {
  Model m;
  ir::Value y = m.input("x", {64, 64});
  for (int i = 0; i < 60; ++i) {
    const std::string name = "w" + std::to_string(i);
    y = m("relu", {m("add", {y, m("matmul", {y, m.weight(name.c_str(), {64, 64})})})});
  }
  const ir::Graph graph = m.finish(y);
  for (const char* search : {"mcmc", "best-first"}) {
    int asked = 0;
    for (const int after_ms : {100, 1000, 3000}) {
      ParallelPlanOptions options;
      options.search = search;
      base::Stopwatch since;
      std::promise<void> planned;
      std::thread stopper([&, ended = planned.get_future()] {
        if (ended.wait_for(std::chrono::milliseconds(after_ms)) == std::future_status::ready)
          return;
        ++asked;
        since.restart();
        base::request_stop(SIGTERM);
      });
      const auto plan = plan_of(graph, machine_of("x=2"), options);
      planned.set_value();
      stopper.join();
      const bool was_asked = base::stop_requested();
      const double late = since.seconds();
      base::request_stop(0);
      if (!was_asked) break;
      EXPECT_LT(late, 2) << search << ", asked after " << after_ms << " ms";
      if (plan.ok()) {
        EXPECT_TRUE(plan->interrupted) << search << ", asked after " << after_ms << " ms";
      } else {
        EXPECT_EQ(plan.status().code(), base::StatusCode::kLimit) << search;
      }
    }
    EXPECT_GE(asked, 1) << search << " ended within 100 ms";
  }
}

// Others do not know that layers are tied, so that all are planned for them.
TEST(PlanSearches, LookAtAllOfEqualLayers) {
  Model m;
  ir::Value y = m.input("x", {64, 256});
  for (const char* name : {"a", "b", "c", "d", "e", "f"})
    y = m("relu", {m("add", {y, m("matmul", {y, m.weight(name, {256, 256})})})});
  const ir::Graph graph = m.finish(y);
  ParallelPlanOptions options;
  options.layers = 2;
  const auto tied = plan_of(graph, machine_of("x=4"), options);
  ASSERT_TRUE(tied.ok()) << tied.status().message();
  EXPECT_GT(tied->layers, 2);
  options.searches = true;
  const auto plan = plan_of(graph, machine_of("x=4"), options);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->layers, 0);
  ASSERT_EQ(plan->searches.size(), 5U);
  for (const FoundPlan& one : plan->searches)
    EXPECT_GE(one.time_s, plan->time_s - 1e-12) << one.search;
}

}  // namespace
}  // namespace egret::parallel
