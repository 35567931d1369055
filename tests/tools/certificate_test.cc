// SPDX-License-Identifier: Apache-2.0
// `egret optimize --certificate` and `egret-check`, as users run them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>

#include "base/formats/json.h"
#include "base/system/file.h"
#include "tests/frontends/onnx_model.h"
#include "tests/paths.h"
#include "tests/tools/folder_test.h"

namespace egret::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

using frontends::OnnxModel;

class CertificateProgram : public FolderTest {
 protected:
  ProgramRun optimize(const std::string& model, const std::string& options = "") {
    return run_program("optimize " + model + " -o " + path("o.onnx") + " --certificate " +
                       path("c.json") + " --cost-db " + path("costs") + " --quick " + options);
  }
  // Runs egret-check on these words.
  ProgramRun check(const std::string& words) {
    const std::string command = std::string(EGRET_BINARY_DIR) + "/bin/egret-check " + words + " >" +
                                path("out") + " 2>" + path("err");
    const int status = std::system(command.c_str());
    return {.code = WEXITSTATUS(status), .out = text("out"), .err = text("err")};
  }
  ProgramRun check_result(const std::string& model) {
    return check(model + " " + path("o.onnx") + " " + path("c.json"));
  }
  std::string text(const std::string& name) {
    auto read = base::read_file(path(name), std::numeric_limits<std::int64_t>::max());
    EXPECT_TRUE(read.ok()) << read.status().message();
    return read.ok() ? *read : "";
  }

  // Two scales that become one.
  std::string scaled_model() {
    OnnxModel model(13);
    model.input("x", {4, 8});
    model.node("Relu", {"x"}, {"r"});
    model.node("Relu", {"r"}, {"s"});
    model.node("Transpose", {"s"}, {"t"});
    model.node("Transpose", {"t"}, {"u"});
    model.node("Neg", {"u"}, {"y"});
    model.output("y");
    EXPECT_TRUE(base::write_file(path("m.onnx"), model.bytes()).ok());
    return path("m.onnx");
  }

  void expect_accepted(const std::string& model) {
    const ProgramRun run = optimize(model, "--limit-time 10");
    ASSERT_EQ(run.code, 0) << run.err;
    const ProgramRun checked = check_result(model);
    EXPECT_EQ(checked.code, 0) << checked.err;
    EXPECT_THAT(checked.out, StartsWith("accepted: "));
  }
};

TEST_F(CertificateProgram, AcceptsWhatOptimizeWrote) {
  const std::string model = scaled_model();
  expect_accepted(model);
  const ProgramRun json = check("--json " + model + " " + path("o.onnx") + " " + path("c.json"));
  const auto report = base::Json::parse(json.out);
  ASSERT_TRUE(report.ok()) << json.out;
  EXPECT_GT(*report->find("rule_steps")->as_integer(), 0);
}

TEST_F(CertificateProgram, AcceptsModelsOfTheZoo) {
  for (const char* name : {"squeezenet1.1", "resnet18", "csrnet-backend"}) {
    SCOPED_TRACE(name);
    const std::string model = path(name + std::string(".onnx"));
    ASSERT_EQ(run_program("zoo " + std::string(name) + " -o " + model).code, 0);
    expect_accepted(model);
  }
}

TEST_F(CertificateProgram, AcceptsSharedModels) {
  const char* const shared = std::getenv("EGRET_SHARED");
  const std::filesystem::path folder =
      shared != nullptr ? shared : std::string(EGRET_SOURCE_DIR) + "/../shared";
  const std::filesystem::path file = folder / "models/light_squeezenet.onnx";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "there is no " << file;
  expect_accepted(file.string());
}

// A user's rule counts where its file and the record of its proof are given.
TEST_F(CertificateProgram, TakesRulesOfFiles) {
  OnnxModel model(13);
  model.input("x", {4, 8});
  const char* names[] = {"x", "a", "b", "c", "d"};
  for (int i = 0; i < 4; ++i) model.node("Neg", {names[i]}, {names[i + 1]});
  model.node("Relu", {"d"}, {"y"});
  model.output("y");
  ASSERT_TRUE(base::write_file(path("m.onnx"), model.bytes()).ok());
  const std::string rules = path("r.rules");
  ASSERT_TRUE(base::write_file(rules, "rule four-neg\n  neg(neg(neg(neg(?x))))\n  => ?x\n").ok());
  ASSERT_EQ(run_program("rules verify --write " + rules).code, 0);
  const ProgramRun run = optimize(path("m.onnx"), "--rules " + rules);
  ASSERT_EQ(run.code, 0) << run.err;
  const ProgramRun with =
      check(path("m.onnx") + " " + path("o.onnx") + " " + path("c.json") + " " + rules);
  EXPECT_EQ(with.code, 0) << with.err;
  EXPECT_THAT(with.out, HasSubstr("1 instances of 1 proven rules"));
  const ProgramRun without = check_result(path("m.onnx"));
  EXPECT_EQ(without.code, 6);
  EXPECT_THAT(without.err, HasSubstr("(rule 'four-neg'): no known rule has the hash"));
  std::filesystem::remove(rules + ".status.json");
  const ProgramRun unproven =
      check(path("m.onnx") + " " + path("o.onnx") + " " + path("c.json") + " " + rules);
  EXPECT_EQ(unproven.code, 6);
  EXPECT_THAT(unproven.err, HasSubstr("the rule is not proven but untested"));
}

TEST_F(CertificateProgram, RejectsAnotherResult) {
  const std::string model = scaled_model();
  ASSERT_EQ(optimize(model).code, 0);
  OnnxModel other(13);
  other.input("x", {4, 8});
  other.node("Relu", {"x"}, {"y"});
  other.output("y");
  ASSERT_TRUE(base::write_file(path("o.onnx"), other.bytes()).ok());
  const ProgramRun checked = check_result(model);
  EXPECT_EQ(checked.code, 6);
  EXPECT_THAT(checked.err, HasSubstr("output 'y': term"));
  EXPECT_THAT(checked.err, HasSubstr("is not what the second program computes"));
}

TEST_F(CertificateProgram, RejectsAnAlteredCertificate) {
  const std::string model = scaled_model();
  ASSERT_EQ(optimize(model).code, 0);
  std::string certificate = text("c.json");
  const std::size_t hash = certificate.find("\"hash\": \"");
  ASSERT_NE(hash, std::string::npos);
  char& digit = certificate[hash + 9];
  digit = digit == '0' ? '1' : '0';
  ASSERT_TRUE(base::write_file(path("c.json"), certificate).ok());
  const ProgramRun checked = check_result(model);
  EXPECT_EQ(checked.code, 6);
  EXPECT_THAT(checked.err, HasSubstr("(rule '"));
  EXPECT_THAT(checked.err, HasSubstr("no known rule has the hash"));

  ASSERT_TRUE(base::write_file(path("c.json"), "{}").ok());
  EXPECT_EQ(check_result(model).code, 6);
}

TEST_F(CertificateProgram, RefusesWhatCannotBeCertified) {
  OnnxModel open(13);
  open.input("x", {1, 8})->mutable_dim(0)->set_dim_param("N");
  open.node("Relu", {"x"}, {"y"});
  open.output("y");
  ASSERT_TRUE(base::write_file(path("m.onnx"), open.bytes()).ok());
  const ProgramRun run = optimize(path("m.onnx"));
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("--certificate needs known sizes (--bind)"));
  EXPECT_FALSE(std::filesystem::exists(path("o.onnx")));
  ASSERT_EQ(optimize(path("m.onnx"), "--bind N=4").code, 0);
  const ProgramRun bound = check_result(path("m.onnx"));
  EXPECT_EQ(bound.code, 0) << bound.err;
  EXPECT_THAT(bound.out, HasSubstr("for {\"N\": 4}"));

  const std::string model = scaled_model();
  EXPECT_THAT(optimize(model, "--kernels-from egraph").err, HasSubstr("--certificate excludes"));
  EXPECT_THAT(optimize(model, "--extractor backtracking").err, HasSubstr("--certificate"));
  EXPECT_EQ(check("--help").code, 0);
  EXPECT_EQ(check("one two").code, 2);
}

}  // namespace
}  // namespace egret::tools
