// SPDX-License-Identifier: Apache-2.0
// Sizes that independent engines agree on.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "egraph/workloads/workload.h"
#include "tests/paths.h"

namespace egret::egraph::workloads {
namespace {

TEST(Workloads, MicrobenchmarkGrowsThroughThePublishedSizes) {
  const std::vector<std::size_t> expected = {35,   69,   118,  208,   389,   784,
                                             1576, 3160, 8113, 28303, 136446};
  auto session = *Session::open(*find_workload("mm-10"));
  EXPECT_EQ(session->egraph().node_count(), expected[0]);
  const RunReport report = session->runner().run();
  EXPECT_EQ(report.stop, StopReason::kIterationLimit);
  ASSERT_EQ(report.iterations.size(), 10U);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(report.iterations[i].nodes, expected[i + 1]);
  EXPECT_EQ(session->egraph().class_count(), 58464U);
}

TEST(Workloads, SumOfTenSaturatesInAllItsPartitions) {
  for (const std::string_view name : {"assoc-10", "assoc-simple-10"}) {
    auto session = *Session::open(*find_workload(name));
    const RunReport report = session->runner().run();
    EXPECT_EQ(report.stop, StopReason::kSaturated);
    EXPECT_EQ(session->egraph().node_count(), 57012U);
    EXPECT_EQ(session->egraph().class_count(), 1023U);
    EXPECT_TRUE(session->egraph().check_invariants().ok());
    // Counting shows that the second associativity has nothing to add to the first.
    EXPECT_EQ(report.rules[2].matches == 0, name == "assoc-10");
  }
}

TEST(Workloads, MathWithBackoffHasEggsSizeAfterSixtyIterations) {
  auto session = *Session::open(*find_workload("math-backoff-60"));
  const RunReport report = session->runner().run();
  EXPECT_EQ(report.iterations.size(), 60U);
  EXPECT_EQ(session->egraph().node_count(), 133713U);
  EXPECT_EQ(session->egraph().class_count(), 72945U);
}

// The text between "rules:" and "terms:".
std::string rules_of_file(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  const std::string mark = "rules:\n";
  const std::size_t begin = all.find(mark);
  if (begin == std::string::npos) return {};
  return all.substr(begin + mark.size(), all.find("terms:") - begin - mark.size());
}

TEST(Workloads, HaveTheRulesOfTheSharedFiles) {
  const char* shared = std::getenv("EGRET_SHARED");
  const std::string folder =
      (shared != nullptr ? std::string(shared) : std::string(EGRET_SOURCE_DIR) + "/../shared") +
      "/egraph-workloads/";
  if (rules_of_file(folder + "mm.txt").empty()) GTEST_SKIP() << "no files in " << folder;
  EXPECT_EQ(find_workload("mm-10")->theory.rules, "\n" + rules_of_file(folder + "mm.txt"));
  EXPECT_EQ(find_workload("assoc-10")->theory.rules, "\n" + rules_of_file(folder + "assoc.txt"));
  EXPECT_EQ(find_workload("math-simple-1m")->theory.rules,
            "\n" + rules_of_file(folder + "math.txt"));
}

TEST(Workloads, AreFoundByNameOnly) {
  for (const std::string_view name : workload_names())
    EXPECT_TRUE(find_workload(name).ok()) << name;
  EXPECT_EQ(find_workload("mm-x").status().code(), base::StatusCode::kUsage);
}

}  // namespace
}  // namespace egret::egraph::workloads
