// SPDX-License-Identifier: Apache-2.0
// `egret extract`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
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
