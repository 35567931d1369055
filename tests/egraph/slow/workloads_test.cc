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

TEST(Workloads, HaveEggsSizesAtAMillionKeysAndAfterAHundredIterations) {
  struct Expected {
    std::string_view name;
    std::size_t nodes;
    std::size_t classes;
  };
  for (const Expected& expected :
       {Expected{"math-simple-1m", 632085, 255984}, Expected{"math-backoff-100", 309739, 155132},
        Expected{"scale-all-rat-1m", 1453866, 615695},
        Expected{"lambda-simple-1m", 1723853, 630328},
        Expected{"lambda-backoff-100", 42876, 17559}}) {
    auto session = *Session::open(*find_workload(expected.name));
    session->runner().run();
    EXPECT_EQ(session->egraph().node_count(), expected.nodes) << expected.name;
    EXPECT_EQ(session->egraph().class_count(), expected.classes) << expected.name;
    const base::Status status = session->egraph().check_invariants();
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

}  // namespace
}  // namespace egret::egraph::workloads
