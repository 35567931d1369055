// SPDX-License-Identifier: Apache-2.0
// Tests that compile emitted kernels for the host.
#pragma once

#include <gtest/gtest.h>

#include "backends/codegen/host_compiler.h"

namespace egret::backends::codegen {

// A fixture that skips its tests without a compiler.
template <typename Fixture>
class NeedsHostCompiler : public Fixture {
 protected:
  void SetUp() override {
    const auto version = host_compiler_version();
    if (!version.ok()) GTEST_SKIP() << version.status().message();
  }
};

}  // namespace egret::backends::codegen
