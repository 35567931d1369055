// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/loops/vector_math.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace egret::backends::cpu {
namespace {

// The largest error of `fast` over every 499th float in [low, high], of both signs where low is
// negative, in units in the last place of what `exact` rounds to.
template <typename Fast, typename Exact>
double largest_error(Fast fast, Exact exact, float low, float high) {
  double largest = 0;
  for (std::int64_t bits = 0; bits < std::int64_t{1} << 32; bits += 499) {
    const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (!(x >= low && x <= high)) continue;
    const double wanted = exact(static_cast<double>(x));
    const auto rounded = static_cast<float>(wanted);
    const float got = fast(x);
    if (std::isinf(rounded)) {
      EXPECT_EQ(got, rounded) << "of " << x;
      continue;
    }
    const float next = std::nextafter(std::fabs(rounded), std::numeric_limits<float>::infinity());
    const double unit = static_cast<double>(next) - std::fabs(rounded);
    largest = std::max(largest, std::fabs(got - wanted) / unit);
  }
  return largest;
}

TEST(VectorMath, IsAsExactAsItSays) {
  constexpr float kMost = std::numeric_limits<float>::max();
  const auto error = [](auto fast, auto exact, float low, float high) {
    return largest_error(fast, exact, low, high);
  };
  EXPECT_LE(error([](float x) { return vector::exp(x); }, [](double x) { return std::exp(x); },
                  -kMost, kMost),
            1.2);
  EXPECT_LE(error([](float x) { return vector::exp_below_zero(x); },
                  [](double x) { return std::exp(x); }, -87.3F, 0),
            1.2);
  for (const float far : {-88.1F, -1e9F, -kMost, -std::numeric_limits<float>::infinity()})
    EXPECT_EQ(vector::exp_below_zero(far), 0.0F);
  EXPECT_EQ(vector::exp_below_zero(0.0F), 1.0F);
  EXPECT_EQ(vector::exp_below_zero(-0.0F), 1.0F);
  EXPECT_LE(
      error([](float x) { return vector::log(x); }, [](double x) { return std::log(x); }, 0, kMost),
      2);
  EXPECT_LE(error([](float x) { return vector::tanh(x); }, [](double x) { return std::tanh(x); },
                  -kMost, kMost),
            3.1);
  EXPECT_LE(error([](float x) { return vector::erf(x); }, [](double x) { return std::erf(x); },
                  -kMost, kMost),
            2.5);
}

TEST(VectorMath, KeepsNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(vector::exp(nan)));
  EXPECT_TRUE(std::isnan(vector::log(nan)) && std::isnan(vector::log(-1.0F)));
  EXPECT_TRUE(std::isnan(vector::tanh(nan)) && std::isnan(vector::erf(nan)));
  EXPECT_TRUE(std::isnan(vector::max(nan, 1.0F)) && std::isnan(vector::max(1.0F, nan)));
  EXPECT_TRUE(std::isnan(vector::min(nan, 1.0F)) && std::isnan(vector::min(1.0F, nan)));
}

}  // namespace
}  // namespace egret::backends::cpu
