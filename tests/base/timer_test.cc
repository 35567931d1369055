// SPDX-License-Identifier: Apache-2.0
#include "base/timer.h"

#include <gtest/gtest.h>

#include <csignal>
#include <limits>

#include "base/progress.h"
#include "base/stop.h"

namespace egret::base {
namespace {

TEST(Deadline, NeverComesUnlessSet) {
  EXPECT_FALSE(Deadline().expired());
  EXPECT_TRUE(Deadline::after(std::numeric_limits<double>::infinity()).never());
  EXPECT_TRUE(Deadline::after(std::numeric_limits<double>::quiet_NaN()).never());
  EXPECT_TRUE(Deadline::after(0).expired());
  EXPECT_TRUE(Deadline::after(-1).expired());
  EXPECT_EQ(Deadline::after(-1).remaining(), 0);
  EXPECT_FALSE(Deadline::after(1000).expired());
}

TEST(Stop, TheFirstSignalStays) {
  EXPECT_FALSE(stop_requested());
  request_stop(SIGTERM);
  request_stop(SIGINT);
  EXPECT_EQ(stop_signal(), SIGTERM);
  request_stop(0);
  EXPECT_FALSE(stop_requested());
}

class Recorder final : public ProgressSink {
 public:
  void begin_phase(std::string_view phase) override { text += "<" + std::string(phase) + ">"; }
  bool due() override { return true; }
  void report(const ProgressReport& report) override {
    for (const ProgressValue& value : report.values) {
      text += std::string(value.column->name) + "=" +
              std::to_string(static_cast<int>(value.value)) + ";";
    }
  }
  void end_phase(std::string_view phase, double) override {
    text += "</" + std::string(phase) + ">";
  }
  std::string text;
};

TEST(Progress, APhaseLastsAsLongAsItsScope) {
  Recorder recorder;
  {
    const Progress progress(&recorder, "saturate");
    if (progress.due()) progress.report({{kIteration, 3}, {kENodes, 40U}}, 0.5);
  }
  EXPECT_EQ(recorder.text, "<saturate>iteration=3;e_nodes=40;</saturate>");
  const Progress silent(nullptr, "nothing");
  EXPECT_FALSE(silent.due());
}

}  // namespace
}  // namespace egret::base
