// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "base/formats/json.h"
#include "base/system/file.h"
#include "frontends/onnx.h"
#include "ir/graph/builder.h"
#include "tests/paths.h"
#include "tests/tools/folder_test.h"

namespace egret::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class VerbExplain : public FolderTest {
 protected:
  // neg(neg(x)) and relu(relu(x)) are simplified.
  void SetUp() override {
    const ir::TensorType matrix{ir::DType::kF32, {8, 8}};
    ir::GraphBuilder b;
    const ir::Value x = b.input("x", matrix);
    const ir::Value negated = b.add("neg", {b.add("neg", {x})});
    b.output("y", b.add("tanh", {b.add("relu", {b.add("relu", {negated})})}));
    const auto model = frontends::export_onnx(b.finish().value(), {}, {});
    ASSERT_TRUE(base::write_file(path("m.onnx"), model->bytes).ok());
  }
  ProgramRun optimize(const std::string& rest) {
    return run_program("optimize " + path("m.onnx") + " -o " + path("o.onnx") +
                       " --quick --quiet --cost-db " + path("costs") + " " + rest);
  }
};

// x w + x v = x (w + v), in which the sum is a constant.
TEST_F(VerbExplain, NamesTheRuleOfANode) {
  const ir::TensorType matrix{ir::DType::kF32, {64, 64}};
  ir::GraphBuilder b;
  const ir::Value x = b.input("x", matrix);
  const ir::Value w = b.constant(ir::Tensor::filled(matrix, 0.5), "w");
  const ir::Value v = b.constant(ir::Tensor::filled(matrix, 0.25), "v");
  b.output("y", b.add("add", {b.add("matmul", {x, w}), b.add("matmul", {x, v})}));
  const auto model = frontends::export_onnx(b.finish().value(), {}, {});
  ASSERT_TRUE(base::write_file(path("m.onnx"), model->bytes).ok());
  const ProgramRun made = optimize("");
  ASSERT_EQ(made.code, 0) << made.err;
  const auto json = base::Json::parse(run_program("explain --json " + path("o.onnx")).out);
  ASSERT_TRUE(json.ok());
  const base::Json& nodes = *json->find("nodes");
  ASSERT_EQ(nodes.items().size(), 1U);
  const std::string rule = nodes.items()[0].find("rule")->as_string().value();
  EXPECT_NE(rule, "");
  const base::Json& rules = *json->find("rules");
  ASSERT_EQ(rules.items().size(), 1U);
  EXPECT_EQ(rules.items()[0].find("name")->as_string().value(), rule);
  EXPECT_THAT(rules.items()[0].find("text")->as_string().value(), HasSubstr("matmul"));
  EXPECT_THAT(run_program("explain " + path("o.onnx")).out,
              HasSubstr("1 of 1 node was made by 1 rule"));
}

TEST_F(VerbExplain, PrintsTheStepsOfTheProof) {
  ASSERT_EQ(optimize("--certificate " + path("c.json")).code, 0);
  const ProgramRun run = run_program("explain " + path("o.onnx") + " " + path("c.json"));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("proof: "));
  EXPECT_THAT(run.out, HasSubstr("neg(neg(x))"));
}

TEST_F(VerbExplain, SaysSoWhereNoRuleTookPart) {
  const ProgramRun run = run_program("explain " + path("m.onnx"));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("0 of 5 nodes were made by 0 rules"));
  EXPECT_THAT(run.out, Not(HasSubstr("step")));
}

TEST_F(VerbExplain, RefusesWhatIsNoCertificate) {
  const ProgramRun run = run_program("explain " + path("m.onnx") + " " + path("m.onnx"));
  EXPECT_EQ(run.code, 3);
  EXPECT_THAT(run.err, HasSubstr("m.onnx"));
}

}  // namespace
}  // namespace egret::tools
