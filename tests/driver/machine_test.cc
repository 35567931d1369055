// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "backends/backend.h"
#include "backends/timing/node_timer.h"
#include "driver/measure/machine_fingerprint.h"

namespace egret::driver {
namespace {

TEST(MachineFingerprint, NamesTheThreadsTheKernelLibraryAndTheTimingMethod) {
  const std::string version = backends::find_backend("cpu")->version();
  EXPECT_TRUE(std::any_of(version.begin(), version.end(), [](char c) {
    return c >= '0' && c <= '9';
  })) << version;
  EXPECT_TRUE(machine_fingerprint({.threads = 3})
                  .ends_with(" / 3 threads / " + version + " / timing " +
                             std::to_string(backends::kTimingMethod)))
      << machine_fingerprint({.threads = 3});
  EXPECT_EQ(machine_fingerprint({.threads = 3}), machine_fingerprint({.threads = 3}));
  EXPECT_NE(machine_fingerprint({.threads = 3}), machine_fingerprint({.threads = 4}));
}

TEST(MachineFingerprint, KeepsBackendsApart) {
  EXPECT_EQ(machine_fingerprint({"cpu", 3}), machine_fingerprint({.threads = 3}));
  EXPECT_EQ(machine_fingerprint({"reference", 3}),
            "reference interpreter on " + machine_fingerprint({.threads = 3}));
}

TEST(MachineFingerprint, KeepsTimesInBf16Apart) {
  const std::string in_f32 = machine_fingerprint({.threads = 3});
  EXPECT_EQ(machine_fingerprint({"cpu", 3, backends::Precision::kF32}), in_f32);
  EXPECT_EQ(machine_fingerprint({"cpu", 3, backends::Precision::kBF16}), in_f32 + " / bf16");
}

}  // namespace
}  // namespace egret::driver
