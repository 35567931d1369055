// SPDX-License-Identifier: Apache-2.0
#include "rules/proving/batch_sizes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "rules/proving/verification.h"
#include "tests/rules/some_instance.h"

namespace egret::rules {
namespace {

// "?x.0 ?y.0, ?x.1 ?y.1": the groups, in order.
std::string groups(const std::string& text) {
  RuleWithInstance some(text);
  const BatchSizes sizes = batch_sizes(some.rule, some.instance, some.instantiator);
  std::string all;
  for (const auto& group : sizes.groups) {
    if (!all.empty()) all += ",";
    for (const std::string& name : group) all += " " + name;
  }
  return all;
}

TEST(BatchSizes, AreFoundThroughWholeRules) {
  EXPECT_EQ(groups("add(?x, ?y) where rank(?x) == 2 and rank(?y) == 2 => add(?y, ?x)"),
            " ?x.0 ?y.0, ?x.1 ?y.1");
  EXPECT_EQ(groups("mul(matmul(?x, ?w), ?s) where rank(?x) == 3 and rank(?w) == 3 and rank(?s) == 0"
                   " => matmul(mul(?x, ?s), ?w)"),
            " ?w.0 ?x.0, ?w.2, ?x.1");
}

// The mean of repeated elements is their mean, but the sum is not their sum.
TEST(BatchSizes, AreNotAlongAReducedAxis) {
  EXPECT_EQ(groups("reduce_sum{axes=[0]}(add(?x, ?y)) where rank(?x) == 2 and rank(?y) == 2"
                   " => add(reduce_sum{axes=[0]}(?x), reduce_sum{axes=[0]}(?y))"),
            " ?x.1 ?y.1");
}

// With sizes 1 the condition does not hold; with others it holds for some.
TEST(BatchSizes, AreNotInConditionsOtherThanEquations) {
  EXPECT_EQ(groups("add(?x, ?y) where rank(?x) == 2 and rank(?y) == 2 and dim(?x, 0) >= 2"
                   " => add(?y, ?x)"),
            " ?x.1 ?y.1");
  EXPECT_EQ(groups("add(?x, ?y) where rank(?x) == 2 and rank(?y) == 2 and dim(?x, 0) == dim(?y, 0)"
                   " => add(?y, ?x)"),
            " ?x.0 ?y.0, ?x.1 ?y.1");
}

TEST(BatchSizes, AreNotInAttributes) {
  EXPECT_EQ(groups("relu(?x) where rank(?x) == 2 => "
                   "relu(slice{axis=0, start=0, size=dim(?x, -2), step=1}(?x))"),
            " ?x.1");
  EXPECT_EQ(groups("relu(?x) where rank(?x) == 1 => reshape{shape=[elements(?x)]}(relu(?x))"), "");
}

// If ?y has size 1 along an axis, ?x and ?z may have different sizes there.
TEST(BatchSizes, AreOfOneSource) {
  EXPECT_EQ(groups("p = add(?x, ?y)  q = mul(?z, ?y)"
                   " where rank(?x) == 1 and rank(?y) == 1 and rank(?z) == 1"
                   " => p = add(?y, ?x)  q = mul(?y, ?z)"),
            "");
}

// The right side repeats a size that the left side does not have.
TEST(BatchSizes, TypesThatAgreeForSizesOfOneOnlyAreNoticed) {
  KnownOperators known;
  const Rule rule = parsed(
      "relu(?x) where rank(?x) == 2 "
      "=> relu(slice{axis=0, start=0, size=1, step=1}(?x))");
  const Verdict verdict = verify(rule, {}, known);
  EXPECT_EQ(verdict.status, Verdict::Status::kProven) << verdict.reason;  // where dim(?x, 0) is 1
  EXPECT_EQ(verdict.cover.complete, verdict.cover.kinds);
}

// One family for each kind instead of one for each way to broadcast.
TEST(BatchSizes, KindsOfHighRankAreCovered) {
  KnownOperators known;
  const Rule rule = parsed(
      "add(matmul(?x, ?w), ?r) where rank(?x) == 4 and rank(?w) == 4 and rank(?r) == 4"
      " => add(?r, matmul(?x, ?w))");
  const VerifyOptions options{.tensor_checks = 5, .instances = 5, .small_effort = 0};
  const Verdict verdict = verify(rule, options, known);
  EXPECT_EQ(verdict.status, Verdict::Status::kProven) << verdict.reason;
  EXPECT_EQ(verdict.cover.complete, 1);
  EXPECT_LE(verdict.families, 8);
  VerifyOptions apart = options;
  apart.batch_axes = false;
  apart.cover_families = 20;
  EXPECT_EQ(verify(rule, apart, known).cover.complete, 0);
}

}  // namespace
}  // namespace egret::rules
