// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <numeric>

#include "ir/ops/families/resize_axis.h"

namespace egret::ir {
namespace {

TEST(ResizeSamples, WeightsOfAnElementSumToOne) {
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    for (const char* coordinates : {"half_pixel", "pytorch_half_pixel", "align_corners",
                                    "asymmetric", "half_pixel_symmetric"}) {
      for (const bool exclude : {false, true}) {
        for (std::int64_t in = 1; in <= 5; ++in) {
          for (std::int64_t out = 1; out <= 9; ++out) {
            const auto plan =
                resize_plan({.in_size = in,
                             .out_size = out,
                             .scale = static_cast<double>(out) / static_cast<double>(in),
                             .mode = mode,
                             .coordinates = coordinates,
                             .nearest = "floor",
                             .exclude_outside = exclude});
            ASSERT_TRUE(plan.ok()) << plan.status().message();
            for (std::size_t i = 0; i < static_cast<std::size_t>(out); ++i) {
              double sum = 0;
              for (const ResizeTap& tap : plan->taps) {
                sum += tap.weight[i];
                EXPECT_GE(tap.from[i], 0);
                EXPECT_LT(tap.from[i], in);
              }
              EXPECT_NEAR(sum, 1, 1e-12) << mode << " " << coordinates << " " << in << " " << out;
            }
          }
        }
      }
    }
  }
}

TEST(ResizeSamples, DoublingRepeatsTheNearest) {
  const auto plan = resize_plan({.in_size = 2,
                                 .out_size = 4,
                                 .scale = 2,
                                 .mode = "nearest",
                                 .coordinates = "asymmetric",
                                 .nearest = "floor"});
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->taps.size(), 1U);
  EXPECT_EQ(plan->taps[0].from, (std::vector<std::int64_t>{0, 0, 1, 1}));
}

TEST(ResizeSamples, RefusesUnknownModes) {
  const auto error = [](const char* mode, const char* coordinates, const char* nearest) {
    const auto plan = resize_plan({.in_size = 3,
                                   .out_size = 5,
                                   .scale = 5.0 / 3,
                                   .mode = mode,
                                   .coordinates = coordinates,
                                   .nearest = nearest});
    return plan.ok() ? "fine" : plan.status().message();
  };
  EXPECT_EQ(error("quartic", "asymmetric", "floor"), "unknown mode 'quartic'");
  EXPECT_EQ(error("linear", "polar", "floor"), "unknown coordinate transformation 'polar'");
  EXPECT_EQ(error("nearest", "asymmetric", "far"), "unknown nearest mode 'far'");
}

// Before there is a table: one of 10^18 entries could not be made.
TEST(ResizeSamples, RefusesTablesThatAreTooLong) {
  const auto error = [](std::int64_t size, const char* mode, const char* coordinates) {
    const auto plan = resize_plan({.in_size = 2,
                                   .out_size = size,
                                   .scale = static_cast<double>(size) / 2,
                                   .mode = mode,
                                   .coordinates = coordinates,
                                   .nearest = "floor"});
    return plan.ok() ? "fine" : plan.status().message();
  };
  constexpr std::int64_t kHuge = 1'000'000'000'000'000'000;
  EXPECT_EQ(error(1'000'000, "cubic", "asymmetric"), "fine");
  EXPECT_EQ(error(kHuge, "linear", "asymmetric"),
            "an axis is resized to 1000000000000000000 elements; at most 2097152 are supported in "
            "mode linear");
  EXPECT_EQ(error(kHuge, "nearest", "polar"), "unknown coordinate transformation 'polar'");
}

}  // namespace
}  // namespace egret::ir
