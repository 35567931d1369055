// SPDX-License-Identifier: Apache-2.0
// Emitted kernels compile with the compiler that a GPU's driver comes with. NVRTC needs no GPU;
// where it is not installed (scripts/setup.sh --cuda installs it) the test says so.
#include <gtest/gtest.h>

#include "backends/cuda/device.h"
#include "tests/codegen/kernel_batch.h"
#include "tests/codegen/sample_kernels.h"

namespace egret::backends::codegen {
namespace {

TEST(Nvrtc, CompilesEmittedKernelsToMachineCode) {
  const cuda::Libraries& libraries = cuda::system_libraries();
  if (!libraries.has_nvrtc.ok()) GTEST_SKIP() << libraries.has_nvrtc.message();
  KernelBatch batch(Target::kCuda);
  add_every_operator(batch, 2);
  add_random_regions(batch, 50);
  const auto image =
      cuda::compile_for_device(libraries.nvrtc, libraries.nvrtc_version, batch.emitted(), 90);
  ASSERT_TRUE(image.ok()) << image.status().message();
  EXPECT_TRUE(
      image->starts_with("\x7f"
                         "ELF"));
  for (const std::string& name : batch.kernel_names())
    EXPECT_NE(image->find(name), std::string::npos) << name;
}

TEST(Nvrtc, SaysWhatItRefuses) {
  const cuda::Libraries& libraries = cuda::system_libraries();
  if (!libraries.has_nvrtc.ok()) GTEST_SKIP() << libraries.has_nvrtc.message();
  const auto image = cuda::compile_for_device(libraries.nvrtc, libraries.nvrtc_version,
                                              "__global__ void f() { undeclared(); }", 90);
  EXPECT_NE(image.status().message().find("undeclared"), std::string::npos);
}

TEST(Nvrtc, ServesAGpuThatItDoesNotKnowWithPtx) {
  const cuda::Libraries& libraries = cuda::system_libraries();
  if (!libraries.has_nvrtc.ok()) GTEST_SKIP() << libraries.has_nvrtc.message();
  const auto image = cuda::compile_for_device(libraries.nvrtc, libraries.nvrtc_version,
                                              "extern \"C\" __global__ void f() {}", 999);
  ASSERT_TRUE(image.ok()) << image.status().message();
  EXPECT_NE(image->find(".entry f"), std::string::npos);
}

}  // namespace
}  // namespace egret::backends::codegen
