// SPDX-License-Identifier: Apache-2.0
#include "driver/select/extraction_cache.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace egret::driver {
namespace {

// A class of two leaves, and one of two nodes over it.
egraph::EGraphView two_by_two() {
  return {.class_begin = {0, 2, 4},
          .node_class = {0, 0, 1, 1},
          .node_op = std::vector<egraph::OpId>(4),
          .child_begin = {0, 0, 0, 1, 2},
          .children = {0, 0},
          .roots = {1},
          .class_id = {}};
}

// Takes its time, and finds something else when it is asked again.
int asked = 0;
bool proves = false;
base::Result<extract::Solution> slow(const extract::Problem& problem, const extract::Options&) {
  std::this_thread::sleep_for(std::chrono::milliseconds(120));
  const extract::NodeIndex top = asked++ % 2 == 0 ? 2U : 3U;
  extract::Solution solution = extract::solution_of(problem, {0, top});
  if (proves) {
    solution.bound = solution.dag_cost;
    solution.quality = extract::Quality::kOptimal;
  }
  return solution;
}
base::Result<extract::Solution> quick(const extract::Problem& problem, const extract::Options&) {
  ++asked;
  return extract::solution_of(problem, {0, 2});
}
const extract::ExtractorRow kSlow{"slow", "", slow};
const extract::ExtractorRow kQuick{"quick", "", quick};

class KeptExtraction : public testing::Test {
 protected:
  void SetUp() override {
    asked = 0;
    proves = false;
    auto opened = cost::Database::open(":memory:");
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    database_ = *std::move(opened);
  }
  extract::Solution extracted(const extract::ExtractorRow& extractor = kSlow) {
    auto solution = extract_or_recall(extractor, {view_, costs_}, options_, database_.get());
    EXPECT_TRUE(solution.ok()) << solution.status().message();
    return solution.ok() ? *std::move(solution) : extract::Solution{};
  }

  egraph::EGraphView view_ = two_by_two();
  std::vector<double> costs_{1, 2, 3, 3};
  extract::Options options_{.time_limit_s = 2, .seed = 7, .should_stop = {}};
  std::unique_ptr<cost::Database> database_;
};

TEST_F(KeptExtraction, TheSameProblemHasTheSameAnswer) {
  const extract::Solution first = extracted();
  const extract::Solution again = extracted();
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(again.choice, first.choice);
  EXPECT_EQ(again.dag_cost, 4);
  EXPECT_EQ(again.bound, first.bound);
  EXPECT_EQ(again.quality, extract::Quality::kFeasible);
}

TEST_F(KeptExtraction, OtherProblemsAreOthers) {
  extracted();
  costs_[1] = 2.0000000000000004;  // by the last bit
  extracted();
  EXPECT_EQ(asked, 2);
  options_.seed = 8;
  extracted();
  EXPECT_EQ(asked, 3);
  view_.children = {0, 0, 0};
  view_.child_begin = {0, 0, 0, 1, 3};
  extracted();
  EXPECT_EQ(asked, 4);
}

TEST_F(KeptExtraction, MoreTimeIsAskedForAgainUnlessItWasProven) {
  extracted();
  options_.time_limit_s = 1;
  EXPECT_EQ(extracted().choice[1], 2U);
  EXPECT_EQ(asked, 1);
  options_.time_limit_s = 4;
  EXPECT_EQ(extracted().choice[1], 3U);
  EXPECT_EQ(asked, 2);
  options_.time_limit_s = 3;
  EXPECT_EQ(extracted().choice[1], 3U);
  EXPECT_EQ(asked, 2);
  proves = true;
  options_.time_limit_s = 5;
  EXPECT_EQ(extracted().choice[1], 2U);
  options_.time_limit_s = 60;
  const extract::Solution proven = extracted();
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(proven.quality, extract::Quality::kOptimal);
  EXPECT_EQ(proven.bound, proven.dag_cost);
}

TEST_F(KeptExtraction, WhatIsFoundAtOnceIsNotKept) {
  extracted(kQuick);
  extracted(kQuick);
  EXPECT_EQ(asked, 2);
}

TEST_F(KeptExtraction, WithoutADatabaseTheExtractorIsAsked) {
  database_ = nullptr;
  extracted();
  extracted();
  EXPECT_EQ(asked, 2);
}

// As a file that something else wrote to might hold it.
class SpoiltExtraction : public KeptExtraction, public testing::WithParamInterface<const char*> {};

TEST_P(SpoiltExtraction, IsAskedForAgain) {
  const std::string key = key_of_extraction(kSlow, {view_, costs_}, options_);
  ASSERT_TRUE(database_->store_note(key, GetParam()).ok());
  EXPECT_EQ(extracted().dag_cost, 4);
  EXPECT_EQ(asked, 1);
}

constexpr const char* kSpoilt[] = {
    "",
    "no JSON",
    "[]",
    R"({"time_limit_s": 9})",
    R"({"time_limit_s": 9, "proven": false, "bound": 0})",
    R"({"time_limit_s": 9, "proven": false, "bound": 0, "choice": [1, 0]})",         // no leaf
    R"({"time_limit_s": 9, "proven": false, "bound": 0, "choice": [0, 2, 1, 0]})",   // no such node
    R"({"time_limit_s": 9, "proven": false, "bound": 0, "choice": [0, -1, 1, 0]})",  // nor this
    R"({"time_limit_s": 9, "proven": false, "bound": 0, "choice": [0, 0, 2, 0]})",  // no such class
    R"({"time_limit_s": 9, "proven": false, "bound": 0, "choice": [0, "0", 1, 0]})",  // no number
    R"({"time_limit_s": 9, "proven": false, "bound": 9, "choice": [0, 0, 1, 0]})",    // too high
    R"({"time_limit_s": 9, "proven": true, "bound": 0, "choice": [0, 0, 1, 0]})",     // with a gap
};
INSTANTIATE_TEST_SUITE_P(All, SpoiltExtraction, testing::ValuesIn(kSpoilt));

TEST(KeptChoice, IsReadBackWhereItIsAnAnswer) {
  const egraph::EGraphView view = two_by_two();
  const std::vector<double> costs(view.node_count(), 1);
  const extract::Problem problem{view, costs};
  const auto database = cost::Database::open(":memory:");
  ASSERT_TRUE(database.ok());
  const auto kept = [&] { return *kept_choice(**database, "here", "key", problem); };
  EXPECT_FALSE(kept());
  const std::vector<extract::NodeIndex> choice{1, 2};
  const cost::Entry entry{.runs = 1, .median_s = 1};
  for (const bool is_final : {false, true}) {
    ASSERT_TRUE(keep_choice(**database, "here", "key", entry, view, {choice, is_final}).ok());
    ASSERT_TRUE(kept());
    EXPECT_EQ(kept()->nodes, choice);
    EXPECT_EQ(kept()->is_final, is_final);
  }
  EXPECT_FALSE(*kept_choice(**database, "elsewhere", "key", problem));
  for (const char* text :
       {R"({"final": true, "choice": [0,2]})", R"({"final": true, "choice": [2,0]})",
        R"({"final": true, "choice": [0,-1]})", R"({"final": true, "choice": [1,0]})",
        R"({"final": true})", R"({"choice": [0,1,1,0]})", "[0,1,1,0]", "no text of a choice"}) {
    ASSERT_TRUE((*database)->store_note("key on here", text).ok());
    EXPECT_FALSE(kept()) << text;
  }
}

}  // namespace
}  // namespace egret::driver
