// SPDX-License-Identifier: Apache-2.0
// `egret plan --certificate` and `egret-check-plan`, as users run them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/formats/json.h"
#include "base/system/file.h"
#include "frontends/onnx.h"
#include "ir/graph/builder.h"
#include "tests/frontends/onnx_model.h"
#include "tests/paths.h"
#include "tests/tools/folder_test.h"

namespace egret::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class PlanCertificateProgram : public FolderTest {
 protected:
  void SetUp() override {
    write_model("m.onnx", "relu");
    const ProgramRun plan =
        run_program("plan " + path("m.onnx") + " --mesh x=2 --strategy tensor" + " -o " +
                    path("p.json") + " --certificate " + path("c.json"));
    ASSERT_EQ(plan.code, 0) << plan.err;
  }

  void write_model(const std::string& name, const char* activation) {
    ir::GraphBuilder b;
    base::Random random(1);
    const auto weight = [&](const char* called, std::initializer_list<std::int64_t> shape) {
      return b.constant(ir::Tensor::random({ir::DType::kF32, shape}, random), called);
    };
    const ir::Value x = b.input("x", {ir::DType::kF32, {4, 128}});
    const ir::Value h = b.add(activation, {b.add("matmul", {x, weight("w1", {128, 512})})});
    b.output("y", b.add("matmul", {h, weight("w2", {512, 128})}));
    const auto model = frontends::export_onnx(b.finish().value(), {}, {});
    ASSERT_TRUE(base::write_file(path(name), model->bytes).ok());
  }

  std::string text(const std::string& name) {
    auto read = base::read_file(path(name), 1 << 20);
    EXPECT_TRUE(read.ok()) << read.status().message();
    return read.ok() ? *read : "";
  }

  ProgramRun check(const std::string& words) {
    const std::string command = std::string(EGRET_BINARY_DIR) + "/bin/egret-check-plan " + words +
                                " >" + path("out") + " 2>" + path("err");
    const int status = std::system(command.c_str());
    return {.code = WEXITSTATUS(status), .out = text("out"), .err = text("err")};
  }
  std::string all(const std::string& model = "m.onnx") {
    return path(model) + " " + path("p.json") + " " + path("c.json");
  }
};

TEST_F(PlanCertificateProgram, IsAccepted) {
  const ProgramRun run = check(all());
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out,
              StartsWith("accepted: 1 outputs on x=2; 7 nodes of a rank: 3 uses of 3 laws, "
                         "1 exchanges"));
  const auto json = base::Json::parse(check("--json " + all()).out);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(*json->find("exchanges")->as_integer(), 1);
}

TEST_F(PlanCertificateProgram, IsRejectedForAnotherModelOrLaw) {
  write_model("n.onnx", "tanh");
  const ProgramRun other = check(all("n.onnx"));
  EXPECT_EQ(other.code, 6) << other.err;
  std::string certificate = text("c.json");
  const std::size_t at = certificate.find("\"hash\": \"");
  ASSERT_NE(at, std::string::npos);
  char& digit = certificate[at + 9];
  digit = digit == '0' ? '1' : '0';
  ASSERT_TRUE(base::write_file(path("c.json"), certificate).ok());
  const ProgramRun law = check(all());
  EXPECT_EQ(law.code, 6) << law.out;
  EXPECT_THAT(law.err, HasSubstr("(matmul"));
  EXPECT_THAT(law.err, HasSubstr("is another one than that of its placements along 'x'"));
  ASSERT_TRUE(base::write_file(path("c.json"), "{}").ok());
  EXPECT_EQ(check(all()).code, 6);
}

// The sizes, the training step, and nodes that rules take apart though they count on rounding.
TEST_F(PlanCertificateProgram, SaysWhatItIsOf) {
  frontends::OnnxModel m;
  m.input("x", {1, 64})->mutable_dim(0)->set_dim_param("batch");
  onnx::TensorProto* const w = m.initializer("w", frontends::kFloatCode, {64, 64});
  for (int i = 0; i < 64 * 64; ++i) w->add_float_data(0.5F);
  m.initializer("c", frontends::kFloatCode, {})->add_float_data(12582912.F);
  m.node("MatMul", {"x", "w"}, {"a"});
  m.node("Add", {"a", "c"}, {"b"});
  m.node("Sub", {"b", "c"}, {"d"});  // rounds to whole numbers
  m.node("Relu", {"d"}, {"y"});
  m.output("y");
  ASSERT_TRUE(base::write_file(path("m.onnx"), m.bytes()).ok());
  const auto plan = [&](const std::string& words) {
    const ProgramRun run = run_program("plan " + path("m.onnx") + " --mesh x=2 -o " +
                                       path("p.json") + " --certificate " + path("c.json") + words);
    ASSERT_EQ(run.code, 0) << run.err;
  };
  plan(" --bind batch=8 --rules default");
  const ProgramRun eight = check(all());
  EXPECT_EQ(eight.code, 0) << eight.err;
  EXPECT_THAT(eight.out, StartsWith("accepted: 1 outputs on x=2 for [\"batch=8\"]; "));
  EXPECT_THAT(eight.out, HasSubstr("2 nodes that count on rounding are taken as real arithmetic"));
  // A plan for another size has another hash, and its certificate, too.
  const std::string text_of_plan = text("p.json");
  std::string other = text_of_plan;
  const std::size_t at = other.find("batch=8");
  ASSERT_NE(at, std::string::npos);
  ASSERT_TRUE(base::write_file(path("p.json"), other.replace(at, 7, "batch=4")).ok());
  const ProgramRun rejected = check(all());
  EXPECT_EQ(rejected.code, 6);
  EXPECT_THAT(rejected.err, HasSubstr("the plan was made for another model"));

  plan(" --bind batch=8 --train --loss mse");
  const auto json = base::Json::parse(check("--json " + all()).out);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json->find("bind")->items().size(), 1U);
  ASSERT_NE(json->find("training"), nullptr);
  EXPECT_EQ(*json->find("training")->find("loss")->as_string(), "mse");
  EXPECT_THAT(check(all()).out, HasSubstr("of the training step with {"));
}

TEST_F(PlanCertificateProgram, SaysWhatItNeeds) {
  EXPECT_EQ(check(path("m.onnx")).code, 2);
  EXPECT_THAT(check("--help").out, StartsWith("usage: egret-check-plan"));
  const ProgramRun run =
      run_program("plan " + path("m.onnx") + " --mesh x=2 --certificate " + path("d.json"));
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("it needs --output"));
}

}  // namespace
}  // namespace egret::tools
