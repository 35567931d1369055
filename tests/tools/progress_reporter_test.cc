// SPDX-License-Identifier: Apache-2.0
#include "tools/console/progress_reporter.h"

#include <gtest/gtest.h>

#include "base/formats/json.h"

namespace egret::tools {
namespace {

const base::ProgressValue kValues[] = {
    {base::kIteration, 12}, {base::kENodes, 45678}, {base::kBestCost, 0.00123}, {base::kGap, 0.05}};

base::ProgressReport sample() { return {"saturate", kValues, 0.25, 3, "ResNet\n\x1b[2J"}; }

std::string written(std::FILE* file) {
  std::string text(4096, '\0');
  std::rewind(file);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  return text;
}

TEST(ProgressReporter, ALineShowsPhaseValuesTimeAndMemory) {
  EXPECT_EQ(progress_line(sample(), 3 << 20),
            "saturate  iter 12  nodes 45,678  cost 1.23 ms  gap 5.0%  25.0%  3.00 s, 9.00 s left"
            "  3.00 MiB  ResNet \\x1b[2J");
}

TEST(ProgressReporter, JsonLinesUseTheColumnsNames) {
  const auto json = base::Json::parse(progress_json(sample(), 1024));
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(*json->find("e_nodes")->as_integer(), 45678);
  EXPECT_EQ(*json->find("best_cost")->as_real(), 0.00123);
  EXPECT_EQ(*json->find("left_seconds")->as_real(), 9);
}

TEST(ProgressReporter, ShortWorkOutsideATerminalIsSilent) {
  std::FILE* file = std::tmpfile();
  {
    ProgressReporter reporter(file, ProgressMode::kAuto, false);
    reporter.begin_phase("saturate");
    EXPECT_FALSE(reporter.due());
    reporter.report(sample());
    reporter.end_phase("saturate", 0.1);
  }
  EXPECT_EQ(written(file), "");
  std::fclose(file);
}

TEST(ProgressReporter, TheLiveLineIsRemovedAtTheEnd) {
  std::FILE* file = std::tmpfile();
  {
    ProgressReporter reporter(file, ProgressMode::kAuto, true);
    reporter.report(sample());
  }
  const std::string text = written(file);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_TRUE(text.starts_with("\rsaturate"));
  EXPECT_TRUE(text.ends_with("\r\x1b[K"));
  std::fclose(file);
}

TEST(ProgressReporter, JsonMarksBeginAndEndOfPhases) {
  std::FILE* file = std::tmpfile();
  ProgressReporter reporter(file, ProgressMode::kJson, false);
  reporter.begin_phase("extract");
  reporter.end_phase("extract", 0.5);
  EXPECT_EQ(written(file),
            "{\"event\": \"begin\", \"phase\": \"extract\"}\n"
            "{\"event\": \"end\", \"phase\": \"extract\", \"elapsed_seconds\": 0.5}\n");
  std::fclose(file);
}

}  // namespace
}  // namespace egret::tools
