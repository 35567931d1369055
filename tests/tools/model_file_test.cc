// SPDX-License-Identifier: Apache-2.0
// What verbs say of models whose sizes are open.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/system/file.h"
#include "frontends/onnx.h"
#include "ir/graph/builder.h"
#include "tests/tools/folder_test.h"

namespace egret::tools {
namespace {

using ::testing::HasSubstr;

using ModelFile = FolderTest;

TEST_F(ModelFile, AllOpenSizesAreNamedWithTheirRemedy) {
  ir::GraphBuilder b;
  const auto input = [&](const char* name, ir::Index size) {
    return b.input(name, ir::TensorType(ir::DType::kF32, ir::Dims{size, ir::symbolic_dim("M")}));
  };
  const ir::Value x = input("x", ir::symbolic_dim("batch.0"));
  const ir::Value y = input("y", ir::Index(1));
  b.output("z", b.add("add", {x, y}));
  const auto model = frontends::export_onnx(b.finish().value(), {}, {});
  ASSERT_TRUE(model.ok()) << model.status().message();
  ASSERT_TRUE(base::write_file(path("m.onnx"), model->bytes).ok());
  const ProgramRun run = run_program("run " + path("m.onnx"));
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(
      run.err,
      HasSubstr(
          "'x' f32[batch.0,M], 'y' f32[1,M]; bind them with --bind M=SIZE --bind batch.0=SIZE\n"));
  EXPECT_EQ(run_program("run " + path("m.onnx") + " --bind batch.0=2 --bind M=3").code, 0);
}

}  // namespace
}  // namespace egret::tools
