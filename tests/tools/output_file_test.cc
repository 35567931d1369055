// SPDX-License-Identifier: Apache-2.0
// What verbs write does not cost the user what they read, or what was there before.
#include "tools/output_file.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "base/file.h"
#include "ir/builder.h"
#include "tests/tools/folder_test.h"

namespace egret::tools {
namespace {

using testing::HasSubstr;

class OutputFileTest : public FolderTest {
 protected:
  void write(const std::string& name, const std::string& text = "kept") {
    ASSERT_TRUE(base::write_file(path(name), text).ok());
  }
  std::string text_of(const std::string& name) {
    return base::read_file(path(name), 1 << 24).value_or("gone");
  }
  // m.onnx, with its weights in m.data.
  void write_model_with_weights() {
    ir::GraphBuilder b;
    const ir::Value x = b.input("x", {ir::DType::kF32, {4, 64}});
    const ir::Value w = b.constant(ir::Tensor::filled({ir::DType::kF32, {64, 64}}, 0.5), "w");
    b.output("y", b.add("relu", {b.add("matmul", {x, w})}));
    frontends::ExportOptions how;
    how.external_data_path = path("m.data");
    how.always_external = true;
    auto model = frontends::export_onnx(*b.finish(), {}, how);
    ASSERT_TRUE(model.ok() && model->write(path("m.onnx")).ok());
  }
  void expect_refused(const std::string& words, const std::string& reason) {
    const ProgramRun run = run_program(words);
    EXPECT_EQ(run.code, 2) << words << "\n" << run.err;
    EXPECT_THAT(run.err, HasSubstr(reason)) << words;
  }
};

TEST_F(OutputFileTest, WeightsOfTheInputAreNotReplacedWithoutItsModel) {
  write_model_with_weights();
  const std::string weights = text_of("m.data");
  const std::string optimize = "optimize --no-measure --cost flops " + path("m.onnx");
  expect_refused(optimize + " -o " + path("m.data"), "holds the weights of");
  expect_refused(optimize + " -o " + path("n.onnx") + " --external-data " + path("m.data"),
                 "holds the weights of");
  expect_refused(optimize + " -o " + path("n.onnx") + " --external-data " + path("m.onnx"),
                 "is the model itself");
  expect_refused(optimize + " -o " + path("n") + " --external-data " + path("n"), "cannot be both");
  expect_refused("grad " + path("m.onnx") + " -o " + path("m.data"), "holds the weights of");
  EXPECT_EQ(text_of("m.data"), weights);
  EXPECT_FALSE(std::filesystem::exists(path("n.onnx")));
  const ProgramRun in_place = run_program(optimize + " -o " + path("m.onnx"));
  EXPECT_EQ(in_place.code, 0) << in_place.err;
}

}  // namespace
}  // namespace egret::tools
