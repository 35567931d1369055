// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "egraph/workloads/workload.h"

namespace egret::egraph::workloads {
namespace {

TEST(Workloads, MicrobenchmarkHasAMillionNodesAfterElevenSteps) {
  auto session = *Session::open(*find_workload("mm-11"));
  const RunReport report = session->runner().run();
  EXPECT_EQ(report.iterations.back().nodes, 1047896U);
  EXPECT_EQ(session->egraph().class_count(), 443832U);
}

}  // namespace
}  // namespace egret::egraph::workloads
