// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "backends/codegen/host_compiler.h"
#include "backends/cuda/cuda_backend.h"
#include "ir/graph/builder.h"
#include "tests/backends/fake_cuda.h"
#include "tests/backends/graph_compare.h"

namespace egret::backends {

// A test of the CUDA backend over fake_cuda.h, which gives back all that it takes.
class FakeCudaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto version = codegen::host_compiler_version();
    if (!version.ok()) GTEST_SKIP() << version.status().message();
    begin_anew();
  }
  void TearDown() override {
    backend_.reset();
    EXPECT_EQ(fake_cuda().allocated, 0u);
    EXPECT_EQ(fake_cuda().descriptors, 0);
  }

  // Another backend, which has made nothing yet, over functions that have done nothing.
  void begin_anew() {
    backend_.reset();
    fake_cuda() = {};
    fake_cuda().fragments_load = has_fragments_;
    backend_ = cuda::make_backend(fake_libraries);
  }

  static ir::Graph graph(ir::GraphBuilder& b) {
    auto made = std::move(b).finish();
    EXPECT_TRUE(made.ok()) << made.status().message();
    return *std::move(made);
  }

  // Runs it and compares with the f64 interpreter.
  PlanReport within_errors(const ir::Graph& of, const CompileOptions& options) const {
    PlanReport report;
    EXPECT_LE(relative_error(of, options, *backend_, &report), 16 * roundoff(options.precision));
    return report;
  }

  // Whether emitted kernels on tensor cores can be loaded. Each takes seconds to build and to
  // emulate, so they are only in the tests that are about them: elsewhere they drop out of the race
  // with libraries.
  bool has_fragments_ = false;
  std::unique_ptr<Backend> backend_;
};

}  // namespace egret::backends
