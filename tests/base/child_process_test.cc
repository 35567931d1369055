// SPDX-License-Identifier: Apache-2.0
#include "base/system/child_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "base/stop.h"
#include "base/timer.h"

namespace egret::base {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<ChildProcess> shell(const std::string& script) {
  auto child = ChildProcess::start({"sh", "-c", script});
  EXPECT_TRUE(child.ok()) << child.status().message();
  return *std::move(child);
}

TEST(ChildProcess, AnswersLinesWithLines) {
  const auto child = shell("while read -r line; do echo \"<$line>\"; echo; done");
  for (const char* line : {"a", "two words"}) {
    ASSERT_TRUE(child->send(line).ok());
    EXPECT_EQ(child->receive(10).value(), "<" + std::string(line) + ">");
    EXPECT_EQ(child->receive(10).value(), "");
  }
}

TEST(ChildProcess, SaysWhyItEnded) {
  const auto child = shell("echo last words >&2; exit 3");
  const auto line = child->receive(10);
  ASSERT_FALSE(line.ok());
  EXPECT_EQ(line.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(line.status().message(), HasSubstr("last words"));
  EXPECT_FALSE(child->send("more").ok()) << "and raises no signal";
}

TEST(ChildProcess, ThatHangsIsKilledWithItsChildren) {
  const Stopwatch watch;
  const auto child = shell("trap '' TERM HUP; sleep 100 & sleep 100");
  EXPECT_EQ(child->receive(0.2).status().code(), StatusCode::kLimit);
  EXPECT_LT(watch.seconds(), 5);
}

TEST(ChildProcess, IsLeftWhenAStopIsRequested) {
  const auto child = shell("sleep 100");
  request_stop(SIGTERM);
  EXPECT_EQ(child->receive(100).status().code(), StatusCode::kLimit);
  request_stop(0);
}

TEST(ChildProcess, ThatDoesNotExistIsUnavailable) {
  const auto child = ChildProcess::start({"/no/such/program"});
  EXPECT_EQ(child.status().code(), StatusCode::kUnavailable);
}

TEST(ChildProcess, EndsWithItsOwner) {
  const Stopwatch watch;
  { const auto child = shell("sleep 100"); }
  EXPECT_LT(watch.seconds(), 5);
}

}  // namespace
}  // namespace egret::base
