// SPDX-License-Identifier: Apache-2.0
#include "driver/measure/batch_plan.h"

#include <gtest/gtest.h>

#include <cmath>

#include "backends/timing/measure.h"
#include "parallel/plan/batch_slices.h"
#include "zoo/zoo.h"

namespace egret::driver {
namespace {

const backends::Backend& cpu() { return *backends::find_backend("cpu"); }

ir::Graph squeezenet(std::int64_t batch) {
  return zoo::find_model("squeezenet1.1")->build({.batch = batch}).value();
}

TEST(BatchPlan, SlicesComputeWhatTheWholeComputes) {
  const ir::Graph whole = squeezenet(3);
  const auto slices = parallel::batch_slices(whole);
  ASSERT_TRUE(slices.has_value());
  for (const bool profile : {false, true}) {
    const auto together = cpu().compile(whole, {.threads = 2});
    const auto apart =
        cpu().compile(slices->slice, {.threads = 2, .profile = profile, .slices = slices->count});
    ASSERT_TRUE(together.ok() && apart.ok());
    EXPECT_EQ((*apart)->input_types(), (*together)->input_types());
    EXPECT_EQ((*apart)->output_types(), (*together)->output_types());
    EXPECT_LT((*apart)->report().arena_bytes, (*together)->report().arena_bytes);
    EXPECT_EQ((*apart)->report().slices, 3);
    const auto inputs = backends::random_inputs(**apart, base::Random(5));
    const auto expected = (*together)->run(inputs);
    const auto actual = (*apart)->run(inputs);
    ASSERT_TRUE(expected.ok() && actual.ok());
    double largest = 0;
    for (std::int64_t i = 0; i < (*expected)[0].elements(); ++i)
      largest = std::max(largest, std::abs((*expected)[0].f64_at(i)));
    for (std::int64_t i = 0; i < (*expected)[0].elements(); ++i)
      ASSERT_NEAR((*actual)[0].f64_at(i), (*expected)[0].f64_at(i), 1e-5 * largest) << i;
    if (!profile) continue;
    double seconds = 0;
    for (const auto& kernel : (*apart)->report().kernels) {
      EXPECT_GE(kernel.seconds, kernel.last_s) << "all slices, and the last of them";
      seconds += kernel.seconds;
    }
    EXPECT_GT(seconds, 0);
  }
}

TEST(BatchPlan, WholeWhereSlicesAreLeftOut) {
  const auto plan = compile_batch(cpu(), squeezenet(2), {.threads = 1, .slice = false});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ((*plan)->report().slices, 1);
}

TEST(BatchPlan, SlicesWhereTheWholeTakesTooMuchMemory) {
  const ir::Graph whole = squeezenet(4);
  const std::int64_t all = (*cpu().compile(whole, {.threads = 1}))->report().arena_bytes;
  const auto plan = compile_batch(cpu(), whole, {.threads = 1, .limit_arena = all / 3});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ((*plan)->report().slices, 4);
  EXPECT_LE((*plan)->report().arena_bytes, all / 3);
}

TEST(BatchPlan, WeightsThatTakeMoreThanValuesAreReadOnce) {
  const auto plan =
      compile_batch(cpu(), zoo::find_model("alexnet")->build({.batch = 2}).value(), {.threads = 1});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ((*plan)->report().slices, 1);
}

TEST(BatchPlan, BackendsThatRunNoSlicesTakeTheWhole) {
  const auto plan = compile_batch(*backends::find_backend("reference"), squeezenet(2), {});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ((*plan)->input_types()[0].dims[0].constant(), 2);
}

}  // namespace
}  // namespace egret::driver
