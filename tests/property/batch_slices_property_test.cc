// SPDX-License-Identifier: Apache-2.0
// Random graphs that may run sample after sample compute the same so, by the CPU backend's plans.
// EGRET_PROPERTY_CASES and EGRET_PROPERTY_SEED widen the campaign.
#include <gtest/gtest.h>

#include "backends/backend.h"
#include "driver/measure/output_check.h"
#include "parallel/plan/batch_slices.h"
#include "tests/property/campaign.h"
#include "tests/property/random_graph.h"

namespace egret {
namespace {

TEST(BatchSlicesProperty, RandomGraphsKeepTheirOutputs) {
  const testing_support::Campaign campaign;
  std::int64_t sliced = 0;
  for (std::int64_t i = 0; i < campaign.cases; ++i) {
    SCOPED_TRACE(campaign.place(i));
    base::Random random = base::Random(campaign.seed).split(static_cast<std::uint64_t>(i));
    const ir::Graph whole = testing_support::random_graph(random);
    const auto slices = parallel::batch_slices(whole);
    if (!slices) continue;
    ++sliced;
    const base::Status valid = slices->slice.check_invariants();
    ASSERT_TRUE(valid.ok()) << valid.message();
    const auto plan = backends::find_backend("cpu")->compile(
        slices->slice, {.threads = 2, .slices = slices->count});
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    const auto expected = driver::OutputCheck::of(whole, {});
    ASSERT_TRUE(expected.ok()) << expected.status().message();
    const auto report =
        expected->check([&](std::span<const ir::Tensor> inputs) { return (*plan)->run(inputs); });
    ASSERT_TRUE(report.ok()) << report.status().message();
    ASSERT_TRUE(report->passed) << "error " << report->max_error << ", bound " << report->bound;
  }
  EXPECT_GT(sliced, campaign.cases / 20) << "hardly a graph could be cut";
}

}  // namespace
}  // namespace egret
