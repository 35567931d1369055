// SPDX-License-Identifier: Apache-2.0
// egg's own mathematics tests, run to saturation or to egg's limits with its default scheduler:
// same iterations, same nodes and classes, same best terms. (How many stale keys a hash-cons saw
// depends on the order of repairs, and matches that are not applied again insert none, so that
// figure of egg's is only near: where it decides, a run with 9,991 must stop where egg's 10,079 do.)
#include <gtest/gtest.h>

#include <ostream>

#include "egraph/smallest_term.h"
#include "egraph/workloads/workload.h"

namespace egret::egraph::workloads {
namespace {

struct EggRun {
  std::string_view term;
  std::size_t iterations;
  StopReason stop;
  std::size_t nodes;
  std::size_t classes;
  std::uint64_t best;
  std::uint64_t max_keys = 10'000;

  friend std::ostream& operator<<(std::ostream& out, const EggRun& run) { return out << run.term; }
};

constexpr StopReason kSaturated = StopReason::kSaturated;
constexpr StopReason kIterations = StopReason::kIterationLimit;
constexpr StopReason kKeys = StopReason::kHook;  // Workload::max_keys

class EggSizes : public ::testing::TestWithParam<EggRun> {};

TEST_P(EggSizes, AreReproduced) {
  const EggRun& expected = GetParam();
  Workload workload = *find_workload("math-backoff-30");
  workload.terms = {expected.term};
  workload.max_keys = expected.max_keys;
  auto session = *Session::open(workload);
  const RunReport report = session->runner().run();
  EXPECT_EQ(report.stop, expected.stop) << to_string(report.stop);
  EXPECT_EQ(report.iterations.size(), expected.iterations);
  EXPECT_EQ(session->egraph().node_count(), expected.nodes);
  EXPECT_EQ(session->egraph().class_count(), expected.classes);
  EXPECT_EQ(smallest_term(session->egraph(), session->roots()[0]).size, expected.best);
  const base::Status status = session->egraph().check_invariants();
  EXPECT_TRUE(status.ok()) << status.message();
}

INSTANTIATE_TEST_SUITE_P(
    Math, EggSizes,
    ::testing::Values(EggRun{"(+ x y)", 4, kSaturated, 18, 5, 3},
                      EggRun{"(+ x (+ x (+ x x)))", 6, kSaturated, 36, 9, 3},
                      EggRun{"(* (pow 2 x) (pow 2 y))", 4, kSaturated, 36, 9, 5},
                      EggRun{"(+ 1 (- a (* (- 2 1) a)))", 5, kSaturated, 21, 7, 1},
                      EggRun{"(/ 1 (- (/ (+ 1 (sqrt five)) 2) (/ (- 1 (sqrt five)) 2)))", 30,
                             kIterations, 10831, 903, 4, 75'000},
                      EggRun{"(* (+ x 3) (+ x 1))", 8, kSaturated, 142, 20, 7},
                      EggRun{"(d x x)", 4, kSaturated, 7, 3, 1},
                      EggRun{"(d x y)", 4, kSaturated, 12, 4, 1},
                      EggRun{"(d x (+ 1 (* 2 x)))", 5, kSaturated, 20, 6, 1},
                      EggRun{"(d x (+ 1 (* y x)))", 4, kSaturated, 26, 6, 1},
                      EggRun{"(d x (ln x))", 8, kSaturated, 28, 8, 3},
                      EggRun{"(d x (pow x 3))", 10, kSaturated, 92, 18, 5},
                      EggRun{"(i 1 x)", 4, kSaturated, 8, 3, 1},
                      EggRun{"(i (cos x) x)", 8, kKeys, 7844, 3197, 2},
                      EggRun{"(i (pow x 1) x)", 10, kKeys, 6407, 2459, 3, 9'900},
                      EggRun{"(i (* x (cos x)) x)", 7, kKeys, 7830, 3203, 6},
                      EggRun{"(i (* (cos x) x) x)", 7, kKeys, 8840, 4214, 6},
                      EggRun{"(i (ln x) x)", 8, kKeys, 8114, 3660, 4}));

}  // namespace
}  // namespace egret::egraph::workloads
