// SPDX-License-Identifier: Apache-2.0
// How verbs speak of kernels that are emitted, and of the interpreter in their place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/system/file.h"
#include "frontends/onnx.h"
#include "ir/graph/builder.h"
#include "tests/tools/folder_test.h"

namespace egret::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class EmittedKernels : public FolderTest {
 protected:
  void SetUp() override {
    ir::GraphBuilder b;
    const ir::Value x = b.input("x", {ir::DType::kI64, {1000, 1000}});
    b.output("y", b.add("add", {b.add("mul", {x, x}), x}));
    const auto exported = frontends::export_onnx(*b.finish(), {});
    ASSERT_TRUE(exported.ok());
    ASSERT_TRUE(base::write_file(path("m.onnx"), exported->bytes).ok());
  }
  ProgramRun run(const std::string& flags, const std::string& environment = "") {
    return run_program("run --check -v " + path("m.onnx") + flags,
                       "EGRET_KERNEL_CACHE=" + path("cache") + " " + environment);
  }
};

TEST_F(EmittedKernels, GiveWayToTheInterpreterWithoutACompiler) {
  const ProgramRun there = run("");
  EXPECT_EQ(there.code, 0) << there.err;
  if (there.err.find("no C++ compiler") != std::string::npos) GTEST_SKIP() << there.err;
  EXPECT_THAT(there.err, Not(HasSubstr("falls back")));
  const ProgramRun missing = run("", "EGRET_HOST_COMPILER=/nonexistent/c++");
  EXPECT_EQ(missing.code, 0) << missing.err;
  EXPECT_THAT(missing.err, HasSubstr("1 kernel falls back to the interpreter: no C++ compiler"));
  EXPECT_THAT(missing.err, HasSubstr("EGRET_HOST_COMPILER"));
  const ProgramRun nowhere = run("", "TMPDIR=/no/such/folder");
  EXPECT_EQ(nowhere.code, missing.code) << nowhere.err;
  EXPECT_THAT(nowhere.err, HasSubstr("TMPDIR"));
  EXPECT_THAT(missing.err, HasSubstr("falls back to the interpreter: "));
}

TEST_F(EmittedKernels, AreLeftOutOnDemand) {
  const ProgramRun run = this->run(" --without emitted");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("(mul): no kernel for mul\n"));
  EXPECT_THAT(run.err, HasSubstr("(add): no kernel for add\n"));
  EXPECT_THAT(run.err, Not(HasSubstr("compiler")));
}

}  // namespace
}  // namespace egret::tools
