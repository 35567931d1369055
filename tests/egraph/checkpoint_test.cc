// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "egraph/core/egraph.h"
#include "egraph/formats/dump.h"
#include "tests/egraph/random_machine.h"
#include "tests/egraph/state_text.h"

namespace egret::egraph {
namespace {

void expect_invariants(const EGraph& egraph) {
  const base::Status status = egraph.check_invariants();
  ASSERT_TRUE(status.ok()) << status.message();
}

TEST(Checkpoint, PopTakesBackAMergeAndItsConsequences) {
  OpTable ops;
  EGraph egraph(ops);
  const ClassId a = *egraph.add(ops.op("a", 0)), b = *egraph.add(ops.op("b", 0));
  const ClassId fa = *egraph.add(ops.op("f", 1), {a}), fb = *egraph.add(ops.op("f", 1), {b});
  ASSERT_TRUE(egraph.rebuild().ok());
  const std::string before = state_text(egraph);
  egraph.push();
  EXPECT_EQ(egraph.checkpoints(), 1U);
  ASSERT_TRUE(egraph.merge(a, b).ok());
  ASSERT_TRUE(egraph.rebuild().ok());
  EXPECT_TRUE(egraph.same(fa, fb));
  EXPECT_GT(egraph.bytes_by_table().back().bytes, 0U);
  egraph.pop();
  EXPECT_FALSE(egraph.same(fa, fb));
  EXPECT_EQ(state_text(egraph), before);
  EXPECT_EQ(egraph.lookup(ops.op("f", 1), {b}), fb);
  expect_invariants(egraph);
}

TEST(Checkpoint, PopNeedsNoRebuild) {
  OpTable ops;
  EGraph egraph(ops);
  const ClassId a = *egraph.add(ops.op("a", 0)), b = *egraph.add(ops.op("b", 0));
  ASSERT_TRUE(egraph.add(ops.op("f", 1), {a}).ok());
  ASSERT_TRUE(egraph.rebuild().ok());
  const std::string before = state_text(egraph);
  egraph.push();
  ASSERT_TRUE(egraph.merge(a, b).ok());
  ASSERT_TRUE(egraph.add(ops.op("f", 1), {b}).ok());
  egraph.pop();
  EXPECT_TRUE(egraph.clean());
  EXPECT_EQ(state_text(egraph), before);
  expect_invariants(egraph);
}

TEST(Checkpoint, SavepointsDoNotReachAcross) {
  OpTable ops;
  EGraph egraph(ops);
  ASSERT_TRUE(egraph.add(ops.op("a", 0)).ok());
  ASSERT_TRUE(egraph.rebuild().ok());
  egraph.push();
  const auto mark = egraph.savepoint();
  egraph.pop();
  EXPECT_FALSE(egraph.rollback(mark));
}

// Runs a random trace in which some parts stand between push() and pop(), nested; `all` runs those
// parts too, otherwise they are left out, and everything must come out the same.
void run(RandomMachine& machine, base::Random& random, int depth, bool all) {
  for (std::uint64_t i = 0, steps = 5 + random.below(30); i < steps; ++i) {
    machine.step(random);
    base::Random inner(random.next());
    if (depth == 3 || !random.chance(0.15)) continue;
    ASSERT_TRUE(machine.egraph().rebuild().ok());
    if (!all) continue;
    const std::string before = state_text(machine.egraph());
    const std::size_t handles = machine.handles().size();
    machine.egraph().push();
    run(machine, inner, depth + 1, true);
    machine.egraph().pop();
    machine.handles().resize(handles);
    ASSERT_EQ(state_text(machine.egraph()), before);
    expect_invariants(machine.egraph());
  }
}

TEST(Checkpoint, WhatWasPoppedLeavesNoTrace) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomMachine with(seed % 2 == 0), without(seed % 2 == 0);
    base::Random random(seed), same(seed);
    run(with, random, 0, true);
    run(without, same, 0, false);
    ASSERT_TRUE(with.egraph().rebuild().ok());
    ASSERT_TRUE(without.egraph().rebuild().ok());
    ASSERT_EQ(state_text(with.egraph()), state_text(without.egraph()));
    ASSERT_EQ(dump(with.egraph()), dump(without.egraph()));
    ASSERT_NO_FATAL_FAILURE(expect_invariants(with.egraph()));
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace egret::egraph
