// SPDX-License-Identifier: Apache-2.0
// Where results go is looked at before work begins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/system/file.h"
#include "frontends/onnx.h"
#include "ir/graph/builder.h"
#include "tests/tools/folder_test.h"

namespace egret::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class OutputPlaces : public FolderTest {
 protected:
  void SetUp() override {
    ir::GraphBuilder b;
    b.output("y", b.add("relu", {b.input("x", {ir::DType::kF32, {2, 4}})}));
    const auto model = frontends::export_onnx(b.finish().value(), {}, {});
    ASSERT_TRUE(base::write_file(path("m.onnx"), model->bytes).ok());
  }
};

TEST_F(OutputPlaces, FilesInFoldersThatAreNotThereAreRefusedFirst) {
  // There is no model either, which would be said later.
  for (const char* verb : {"optimize", "plan", "grad", "egraph dump"}) {
    const ProgramRun run =
        run_program(std::string(verb) + " none.onnx -o " + path("gone/out.onnx"));
    EXPECT_EQ(run.code, 7) << verb;
    EXPECT_THAT(run.err, HasSubstr("gone/out.onnx: cannot write: No such file or directory"))
        << verb;
  }
  EXPECT_FALSE(std::filesystem::exists(path("gone")));
  const ProgramRun folder = run_program("optimize none.onnx -o " + this->folder());
  EXPECT_EQ(folder.code, 2);
  EXPECT_THAT(folder.err, HasSubstr("is a directory"));
  EXPECT_EQ(run_program("plan " + path("m.onnx") + " --mesh x=2 -o /dev/null").code, 0);
}

TEST_F(OutputPlaces, FoldersOfResultsAreMade) {
  const ProgramRun run =
      run_program("run " + path("m.onnx") + " --output-folder " + path("outs/here"));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(std::filesystem::exists(path("outs/here/output_0.pb")));
  const ProgramRun wrong =
      run_program("run " + path("m.onnx") + " --output-folder " + path("m.onnx"));
  EXPECT_EQ(wrong.code, 7);
  EXPECT_THAT(wrong.err, HasSubstr("cannot create the folder"));
}

TEST_F(OutputPlaces, APlanThatGoesNowhereIsSaidNotToBeWritten) {
  const std::string words = "plan " + path("m.onnx") + " --mesh x=2";
  EXPECT_THAT(run_program(words).err, HasSubstr("write it with -o FILE"));
  EXPECT_THAT(run_program(words + " --json").err, Not(HasSubstr("-o FILE")));
  EXPECT_THAT(run_program(words + " -o " + path("p.json")).err, Not(HasSubstr("-o FILE")));
}

}  // namespace
}  // namespace egret::tools
