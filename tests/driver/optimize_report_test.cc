// SPDX-License-Identifier: Apache-2.0
#include "driver/optimize_report.h"

#include <gtest/gtest.h>

#include "base/system/file.h"
#include "tests/paths.h"

namespace egret::driver {
namespace {

// docs/optimize_report.md is what OptimizeReport::documentation() says, behind its introduction.
TEST(OptimizeReport, IsDocumentedMemberByMember) {
  const auto page = base::read_file(EGRET_SOURCE_DIR "/docs/optimize_report.md", 1 << 20);
  ASSERT_TRUE(page.ok());
  const std::string expected = OptimizeReport::documentation();
  EXPECT_TRUE(page->ends_with(expected)) << "docs/optimize_report.md should end with\n" << expected;
}

TEST(OptimizeReport, LeavesOutWhatWasNotMade) {
  OptimizeReport report;
  report.status = "unchanged";
  const base::Json json = report.to_json();
  EXPECT_EQ(json.find("check"), nullptr);
  EXPECT_EQ(json.find("measured_before_s"), nullptr);
  EXPECT_EQ(json.find("graphs_seen"), nullptr);
  report.check.made = true;
  report.race.measured = true;
  report.race.before.median_s = 2;
  report.growth.graphs_seen = 3;
  const base::Json made = report.to_json();
  EXPECT_NE(made.find("check"), nullptr);
  EXPECT_EQ(made.find("measured_before_s")->as_real().value(), 2);
  EXPECT_EQ(made.find("graphs_seen")->as_integer().value(), 3);
}

TEST(OptimizeReport, SumsUpForPeople) {
  OptimizeReport report;
  report.status = "improved";
  report.race.measured = true;
  report.race.before.median_s = 3e-3;
  report.race.after.median_s = 1e-3;
  report.race.after.gain = {.ratio = 3, .low = 2.5, .high = 3.5};
  report.predicted.cost_model = "profiled";
  report.predicted.estimated = 2;
  report.rules.available = 7;
  report.rules.allowed = "tested";
  report.rules.not_proven = {"a", "b"};
  report.growth.stop_reason = "saturated";
  const std::string text = report.summary();
  EXPECT_NE(text.find("(3 times as fast; 95 % interval 2.5 to 3.5)"), std::string::npos) << text;
  EXPECT_NE(text.find("2 operators estimated at assumed rates"), std::string::npos) << text;
  EXPECT_NE(text.find("2 of 7 not proven, --allow tested: a, b"), std::string::npos) << text;
  EXPECT_NE(text.find("stopped: saturated"), std::string::npos) << text;
  EXPECT_EQ(text.find("search"), std::string::npos) << text;
  EXPECT_NE(text.find("not made (--no-check)"), std::string::npos) << text;
}

TEST(OptimizeReport, SaysHowFarExtractionIsFromTheOptimum) {
  const auto summary = [](const std::string& status, double bound_s) {
    OptimizeReport report;
    report.extraction.extractor = "auto";
    report.extraction.status = status;
    report.extraction.bound_s = bound_s;
    return report.summary();
  };
  EXPECT_NE(summary("optimal", 2e-3).find("auto, optimal\n"), std::string::npos);
  EXPECT_NE(summary("feasible", 0).find("auto, feasible (no bound proven)"), std::string::npos);
  EXPECT_NE(summary("feasible", 1e-3).find("nothing in the e-graph costs less than 1.00 ms"),
            std::string::npos)
      << summary("feasible", 1e-3);
}

}  // namespace
}  // namespace egret::driver
