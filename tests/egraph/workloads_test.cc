// SPDX-License-Identifier: Apache-2.0
// Sizes that independent engines agree on.
#include <gtest/gtest.h>

#include "egraph/workloads/workload.h"

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
  auto session = *Session::open(*find_workload("assoc-10"));
  const RunReport report = session->runner().run();
  EXPECT_EQ(report.stop, StopReason::kSaturated);
  EXPECT_EQ(session->egraph().node_count(), 57012U);
  EXPECT_EQ(session->egraph().class_count(), 1023U);
}

}  // namespace
}  // namespace egret::egraph::workloads
