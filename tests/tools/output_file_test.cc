// SPDX-License-Identifier: Apache-2.0
// What verbs write does not cost the user what they read, or what was there before.
#include "tools/arguments/output_file.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "base/system/file.h"
#include "cost/database.h"
#include "ir/graph/builder.h"
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
  expect_refused(optimize + " -o " + path("n") + " --external-data " + path("n"),
                 "cannot be the output file and its file of weights");
  expect_refused("grad " + path("m.onnx") + " -o " + path("m.data"), "holds the weights of");
  EXPECT_EQ(text_of("m.data"), weights);
  EXPECT_FALSE(std::filesystem::exists(path("n.onnx")));
  const ProgramRun in_place = run_program(optimize + " --in-place");
  EXPECT_EQ(in_place.code, 0) << in_place.err;
}

TEST_F(OutputFileTest, DatabasesAreNotReplacedByWhatIsMadeFromThem) {
  write_model_with_weights();
  {
    auto database = cost::Database::open(path("costs.sqlite"));
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE((*database)->store("m", "relu", {.runs = 1, .median_s = 1e-6}).ok());
  }
  std::filesystem::create_symlink("costs.sqlite", path("soft"));
  std::filesystem::create_hard_link(path("costs.sqlite"), path("hard"));
  const std::string database = " --cost-db " + path("costs.sqlite");
  for (const char* name : {"costs.sqlite", "soft", "hard"}) {
    expect_refused("costs export " + path(name) + database, "is the cost database");
    expect_refused("optimize " + path("m.onnx") + " -o " + path(name) + database,
                   "is the cost database");
  }
  expect_refused("optimize " + path("m.onnx") + " -o " + path("new") + " --cost-db " + path("new"),
                 "is the cost database");
  EXPECT_FALSE(std::filesystem::exists(path("new")));
  const auto kept = cost::Database::open_to_read(path("costs.sqlite"));
  ASSERT_TRUE(kept.ok()) << kept.status().message();
  EXPECT_EQ((*kept)->rows()->size(), 1U);
}

TEST_F(OutputFileTest, WhatIsReadIsNotReplaced) {
  write_model_with_weights();
  const std::string model = text_of("m.onnx");
  const std::string rules = "rule a\n  relu(relu(?x)) => relu(?x)\n";
  write("a.rules", rules);
  write("m.toml");
  const std::string to_model = path("m.onnx") + " -o " + path("m.onnx");
  for (const char* verb : {"grad ", "plan ", "egraph dump "})
    expect_refused(verb + to_model, "would be overwritten");
  expect_refused("run " + path("m.onnx") + " --trace " + path("m.onnx"), "would be overwritten");
  expect_refused(
      "plan " + path("m.onnx") + " --machine " + path("m.toml") + " -o " + path("m.toml"),
      "the file of the machine");
  expect_refused("rules minimize starter," + path("a.rules") + " -o " + path("a.rules"),
                 "the rule file");
  expect_refused(
      "optimize " + path("m.onnx") + " --rules " + path("a.rules") + " -o " + path("a.rules"),
      "the rule file");
  EXPECT_EQ(text_of("m.onnx"), model);
  EXPECT_EQ(text_of("a.rules"), rules);
  EXPECT_EQ(text_of("m.toml"), "kept");
}

// The first of these takes minutes when it begins.
TEST_F(OutputFileTest, WhatCannotBeWrittenIsSaidBeforeTheWork) {
  write_model_with_weights();
  const std::string output = " -o " + path("gone/output");
  for (const std::string& words :
       {std::string("rules minimize all"), std::string("zoo bert-base"), "plan " + path("m.onnx"),
        "grad " + path("m.onnx"), "egraph dump " + path("m.onnx")}) {
    const ProgramRun run = run_program(words + output, "timeout 20");
    EXPECT_EQ(run.code, 7) << words << "\n" << run.err;
    EXPECT_THAT(run.err, HasSubstr("gone/output: cannot write: No such file")) << words;
  }
}

}  // namespace
}  // namespace egret::tools
