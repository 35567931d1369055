// SPDX-License-Identifier: Apache-2.0
// `egret inspect`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/formats/json.h"
#include "base/system/file.h"
#include "frontends/onnx.h"
#include "ir/graph/builder.h"
#include "tests/paths.h"
#include "tests/tools/folder_test.h"

namespace egret::tools {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class InspectVerb : public FolderTest {
 protected:
  // Two operators of it are called NAME, which has four letters.
  void write(const std::string& name) {
    ir::GraphBuilder b;
    const ir::Value x = b.input("x", {ir::DType::kF32, {2, 3}});
    const ir::Value w = b.constant(ir::Tensor::filled({ir::DType::kF32, {2, 3}}, 2), "w");
    b.output("y", b.add("relu", {b.add("add", {b.add("relu", {x}), w})}));
    frontends::OnnxModelInfo info;
    info.producer_name = "a test";
    std::string bytes = frontends::export_onnx(*b.finish(), info)->bytes;
    for (auto at = bytes.find("Relu"); at != std::string::npos; at = bytes.find("Relu", at + 4))
      bytes.replace(at, 4, name);
    ASSERT_TRUE(base::write_file(path("m.onnx"), bytes).ok());
  }
};

TEST_F(InspectVerb, ListsOperatorsThatStayAsTheyAre) {
  write("Nope");
  const ProgramRun run = run_program("inspect " + path("m.onnx"));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, ContainsRegex("Nope +2 +not defined; stays as it is"));
}

TEST_F(InspectVerb, TakesOpenSizesAndKeepsThem) {
  const ProgramRun run =
      run_program("inspect " EGRET_SOURCE_DIR "/experiments/data/ppocr_cls.onnx");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, ContainsRegex("input +x +f32\\[\"?p2o.DynamicDimension.0\"?,3,"));
  EXPECT_THAT(run.out, ContainsRegex("conv +35 +open sizes"));
}

// A convolution needs a kernel.
TEST_F(InspectVerb, SaysWhatTheFileSaysWhereItCannotBeImported) {
  write("Conv");
  for (const std::string& from : {path("m.onnx"), "- < " + path("m.onnx")}) {
    const ProgramRun run = run_program("inspect " + from);
    EXPECT_EQ(run.code, 3);
    EXPECT_THAT(run.err, HasSubstr("Conv"));
    EXPECT_THAT(run.out, ContainsRegex("input +x  f32\\[2,3\\]"));
    EXPECT_THAT(run.out, ContainsRegex("weights +1 tensor, 6 elements"));
    EXPECT_THAT(run.out, ContainsRegex("nodes +3"));
    EXPECT_THAT(run.out, ContainsRegex("opset +17"));
    EXPECT_THAT(run.out, ContainsRegex("producer +a test"));
    EXPECT_THAT(run.out, ContainsRegex("Conv +2"));
  }
}

// The model has no size n, so that it is not imported.
TEST_F(InspectVerb, MarksUnsupportedOperatorsWhereItCannotBeImported) {
  write("Nope");
  const ProgramRun run = run_program("inspect --bind n=3 " + path("m.onnx"));
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.out, ContainsRegex("Nope +2 +unsupported"));
  EXPECT_THAT(run.out, Not(ContainsRegex("Add +1 +unsupported")));
  const ProgramRun document = run_program("inspect --json --bind n=3 " + path("m.onnx"));
  const auto json = base::Json::parse(document.out);
  ASSERT_TRUE(json.ok()) << document.out;
  const base::Json& op = json->find("summary")->find("operators")->items()[1];
  EXPECT_EQ(*op.find("name")->as_string(), "Nope");
  EXPECT_FALSE(*op.find("supported")->as_bool());
}

TEST_F(InspectVerb, FailsWithOneDocument) {
  write("Conv");
  const ProgramRun run = run_program("inspect --json " + path("m.onnx"));
  EXPECT_EQ(run.code, 3);
  const auto json = base::Json::parse(run.out);
  ASSERT_TRUE(json.ok()) << run.out;
  EXPECT_EQ(*json->find("error")->find("code")->as_integer(), 3);
  const base::Json& summary = *json->find("summary");
  EXPECT_EQ(*summary.find("producer")->as_string(), "a test");
  EXPECT_EQ(*summary.find("opsets")->find("ai.onnx")->as_integer(), 17);
  EXPECT_EQ(*summary.find("operators")->items()[1].find("name")->as_string(), "Conv");
}

TEST_F(InspectVerb, SaysNothingOfWhatIsNoModel) {
  ASSERT_TRUE(base::write_file(path("m.onnx"), "no model").ok());
  const ProgramRun run = run_program("inspect " + path("m.onnx"));
  EXPECT_EQ(run.code, 3);
  EXPECT_EQ(run.out, "");
}

TEST_F(InspectVerb, DrawsTheGraph) {
  write("Relu");
  const ProgramRun run = run_program("inspect --show svg " + path("m.onnx"));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out.find("<svg "), 0U);
  for (const char* text : {">relu<", ">add<", ">x<", ">y<", "weights f32[2,3]", "legend"})
    EXPECT_THAT(run.out, HasSubstr(text));
}

// relu and addition are one kernel.
TEST_F(InspectVerb, DrawsTheKernels) {
  write("Relu");
  const ProgramRun run = run_program("inspect --show kernels " + path("m.onnx"));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("one colour at the edge: one kernel"));
  std::size_t first = run.out.find(">kernel 0<");
  ASSERT_NE(first, std::string::npos);
  EXPECT_NE(run.out.find(">kernel 0<", first + 1), std::string::npos);
  EXPECT_EQ(run.out.find(">kernel 1<"), std::string::npos);
}

}  // namespace
}  // namespace egret::tools
