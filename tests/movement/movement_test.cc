// SPDX-License-Identifier: Apache-2.0
// Kernels that only move data, in plans of programs as exporters write them: counts, not times.
#include <gtest/gtest.h>

#include "backends/backend.h"
#include "backends/timing/kernel_work.h"
#include "tests/backends/graph_compare.h"
#include "tests/movement/movement_models.h"

namespace egret::movement {
namespace {

// Kernels without arithmetic, named in the failure.
int moving_kernels(const ir::Graph& graph, std::string& names) {
  const auto plan =
      backends::find_backend("cpu")->compile(graph, {.threads = 1, .report_only = true});
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  if (!plan.ok()) return -1;
  const backends::PlanReport report = (*plan)->report();
  const auto work = backends::work_of_kernels(graph, report);
  EXPECT_TRUE(work.ok()) << work.status().message();
  int count = 0;
  for (std::size_t i = 0; i < report.kernels.size(); ++i) {
    if ((*work)[i].flops != 0) continue;
    ++count;
    names += " " + report.kernels[i].name + " (" + report.kernels[i].implementation + ")";
  }
  return count;
}

class Movement : public testing::TestWithParam<MovementModel> {};

TEST_P(Movement, IsLeftOnlyWhereNoKernelTakesIt) {
  std::string names;
  EXPECT_EQ(moving_kernels(GetParam().graph, names), GetParam().moving) << names;
  backends::expect_matches_reference(GetParam().graph, 1, 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Models, Movement, testing::ValuesIn(movement_models()),
                         [](const auto& model) { return model.param.name; });

}  // namespace
}  // namespace egret::movement
