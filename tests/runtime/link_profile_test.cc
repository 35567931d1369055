// SPDX-License-Identifier: Apache-2.0
#include "runtime/ranks/link_profile.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace egret::runtime {
namespace {

constexpr double kLatency = 3e-5;
constexpr double kRate = 2e9;

std::vector<CollectiveSample> samples_of(double latency, double rate) {
  std::vector<CollectiveSample> samples;
  for (double bytes = 1024; bytes <= 1 << 26; bytes *= 4) {
    for (const double steps : {1.0, 2.0}) {
      const double sent = bytes * steps / 2;
      samples.push_back({"ranks", "all_reduce", bytes, steps, sent, steps * latency + sent / rate});
    }
  }
  return samples;
}

TEST(LinkFit, FindsWhatTheTimesAreMadeOf) {
  const auto fit = fit_link(samples_of(kLatency, kRate));
  ASSERT_TRUE(fit.ok()) << fit.status().message();
  EXPECT_EQ(fit->tier, "ranks");
  EXPECT_NEAR(fit->link.latency_s, kLatency, 1e-6 * kLatency);
  EXPECT_NEAR(fit->link.bytes_per_second, kRate, 1e-6 * kRate);
  EXPECT_TRUE(fit->link.direct);
  EXPECT_LT(fit->worst_error, 1e-6);
}

// Relative errors count, so short messages have as much weight as long ones.
TEST(LinkFit, WeighsAllSizesEqually) {
  auto samples = samples_of(kLatency, kRate);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i].seconds *= i % 2 == 0 ? 1.1 : 0.9;
  const auto fit = fit_link(samples);
  ASSERT_TRUE(fit.ok());
  EXPECT_NEAR(fit->link.latency_s, kLatency, 0.1 * kLatency);
  EXPECT_NEAR(fit->link.bytes_per_second, kRate, 0.1 * kRate);
  EXPECT_NEAR(fit->mean_error, 0.1, 0.02);
  EXPECT_LT(fit->worst_error, 0.2);
}

// Least squares of the times, or of relative errors, would find a negative latency or follow the
// one time that is far too short.
TEST(LinkFit, NeitherIsNegativeNorLedByOneTime) {
  auto samples = samples_of(kLatency, kRate);
  samples.front().seconds *= 0.01;
  const auto fit = fit_link(samples);
  ASSERT_TRUE(fit.ok());
  EXPECT_NEAR(fit->link.latency_s, kLatency, 0.7 * kLatency);
  EXPECT_NEAR(fit->link.bytes_per_second, kRate, 0.3 * kRate);
  for (CollectiveSample& sample : samples) sample.seconds = 1e-5 / sample.sent_bytes;
  const auto shrinking = fit_link(samples);
  ASSERT_TRUE(shrinking.ok());
  EXPECT_GT(shrinking->link.latency_s, 0);
  EXPECT_GT(shrinking->link.bytes_per_second, 0);
  double fastest = 0;
  for (const CollectiveSample& sample : samples)
    fastest = std::max(fastest, sample.sent_bytes / sample.seconds);
  EXPECT_LE(shrinking->link.bytes_per_second, 1001 * fastest);
}

TEST(LinkFit, NeedsTwoSizes) {
  auto samples = samples_of(kLatency, kRate);
  samples.resize(1);
  EXPECT_EQ(fit_link(samples).status().code(), base::StatusCode::kBadInput);
  samples.push_back(samples.front());
  EXPECT_EQ(fit_link(samples).status().code(), base::StatusCode::kBadInput);
}

}  // namespace
}  // namespace egret::runtime
