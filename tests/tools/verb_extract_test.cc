// SPDX-License-Identifier: Apache-2.0
// `egret extract`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/formats/json.h"
#include "base/system/file.h"
#include "base/timer.h"
#include "tests/tools/folder_test.h"

namespace egret::tools {
namespace {

using ::testing::HasSubstr;

// p and q share a class that no single change makes worth its price.
constexpr std::string_view kFile = R"({"nodes": {
  "r": {"op": "pair", "children": ["p0", "q0"], "eclass": "root", "cost": 0},
  "p0": {"op": "conv", "eclass": "p", "cost": 10},
  "p1": {"op": "left", "children": ["m"], "eclass": "p", "cost": 1},
  "q0": {"op": "conv", "eclass": "q", "cost": 10},
  "q1": {"op": "right", "children": ["m"], "eclass": "q", "cost": 1},
  "m": {"op": "merged", "eclass": "both", "cost": 12}}, "root_eclasses": ["root"]})";

class ExtractVerb : public FolderTest {
 protected:
  void SetUp() override { ASSERT_TRUE(base::write_file(path("e.json"), kFile).ok()); }
};

TEST_F(ExtractVerb, ChoosesProvenTerms) {
  const ProgramRun run = run_program("extract --json " + path("e.json"));
  EXPECT_EQ(run.code, 0) << run.err;
  const auto json = base::Json::parse(run.out);
  ASSERT_TRUE(json.ok()) << run.out;
  EXPECT_EQ(*json->find("dag_cost")->as_real(), 14);
  EXPECT_EQ(*json->find("tree_cost")->as_real(), 26);
  EXPECT_EQ(*json->find("bound")->as_real(), 14);
  EXPECT_EQ(*json->find("status")->as_string(), "optimal");
  EXPECT_EQ(*json->find("choices")->find("q")->as_string(), "q1");
}

TEST_F(ExtractVerb, TakesTimeInProportionToTheChoices) {
  constexpr int kLeaves = 200'000;
  std::string children;
  std::string leaves;
  for (int i = 0; i < kLeaves; ++i) {
    const std::string name = "\"leaf" + std::to_string(i) + "\"";
    children += (i > 0 ? ", " : "") + name;
    leaves.append(", ").append(name).append(R"(: {"op": "leaf", "eclass": )");
    leaves.append(name).append(R"(, "cost": 1})");
  }
  const std::string root = R"("r": {"op": "all", "eclass": "root", "cost": 1, "children": [)";
  ASSERT_TRUE(base::write_file(path("wide.json"), "{\"nodes\": {" + root + children + "]}" +
                                                      leaves + R"(}, "root_eclasses": ["root"]})")
                  .ok());
  const base::Stopwatch watch;
  const ProgramRun run = run_program("extract --json " + path("wide.json"));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\"leaf199999\": \"leaf199999\""));
  EXPECT_LT(watch.seconds(), 30);  // 1 s; it was a minute when each choice searched all others
}

TEST_F(ExtractVerb, SaysWhichAnswersAreNotProven) {
  const ProgramRun run =
      run_program("extract --extractor tree-greedy - --json < " + path("e.json"));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\"feasible\""));
  EXPECT_THAT(run_program("extract " + path("e.json")).out, HasSubstr("14, optimal"));
}

TEST_F(ExtractVerb, KeepsToWhatIsForbiddenAndForced) {
  const std::string command = "extract --json " + path("e.json");
  const auto cost = [&](const std::string& options) {
    const ProgramRun run = run_program(command + options);
    EXPECT_EQ(run.code, 0) << run.err;
    return base::Json::parse(run.out)->find("dag_cost")->as_real().value_or(0);
  };
  EXPECT_EQ(cost(" --forbid merged"), 20);
  EXPECT_EQ(cost(" --forbid q1"), 20);
  EXPECT_EQ(cost(" --force p0"), 20);
  EXPECT_EQ(cost(" --force p0 --force m"), 23);
  EXPECT_EQ(run_program(command + " --forbid pair").code, 3);
  EXPECT_EQ(run_program(command + " --force p0 --force p1").code, 3);
  EXPECT_EQ(run_program(command + " --forbid nothing").code, 2);
}

TEST_F(ExtractVerb, RefusesWhatHasNoTerm) {
  ASSERT_TRUE(base::write_file(path("bad.json"),
                               R"({"nodes": {"f": {"op": "f", "children": ["f"], "eclass": "c"}},
                                   "root_eclasses": ["c"]})")
                  .ok());
  EXPECT_EQ(run_program("extract " + path("bad.json")).code, 3);
  EXPECT_EQ(run_program("extract --extractor best " + path("e.json")).code, 2);
}

}  // namespace
}  // namespace egret::tools
