// SPDX-License-Identifier: Apache-2.0
// `egret rules verify --certificates` and `egret-check-rule`, as users run them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <string>

#include "base/formats/json.h"
#include "base/system/file.h"
#include "tests/paths.h"
#include "tests/tools/folder_test.h"

namespace egret::tools {
namespace {

using ::testing::HasSubstr;

class RuleCertificateProgram : public FolderTest {
 protected:
  ProgramRun verify(const std::string& selection) {
    return run_program("rules verify " + selection + " --certificates " + path("p.jsonl"));
  }
  ProgramRun check(const std::string& words, const std::string& program = "egret-check-rule") {
    const std::string command = std::string(EGRET_BINARY_DIR) + "/bin/" + program + " " + words +
                                " >" + path("out") + " 2>" + path("err");
    const int status = std::system(command.c_str());
    return {.code = WEXITSTATUS(status), .out = text("out"), .err = text("err")};
  }
  std::string text(const std::string& name) {
    auto read = base::read_file(path(name), std::numeric_limits<std::int64_t>::max());
    EXPECT_TRUE(read.ok()) << read.status().message();
    return read.ok() ? *read : "";
  }
};

TEST_F(RuleCertificateProgram, AcceptsWhatVerifyWrote) {
  const ProgramRun written = verify("slice-of-first,transpose-of-matmul");
  ASSERT_EQ(written.code, 0) << written.err;
  EXPECT_THAT(written.out, HasSubstr("2 certificates, 0 of them need the solver"));
  const ProgramRun checked = check(path("p.jsonl"));
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("accepted: slice-of-first: "));
  EXPECT_THAT(checked.out, HasSubstr("2 accepted, 0 need the solver, 0 rejected"));
  const ProgramRun json = check("--json " + path("p.jsonl"));
  const auto first = base::Json::parse(json.out.substr(0, json.out.find('\n')));
  ASSERT_TRUE(first.ok()) << json.out;
  EXPECT_TRUE(*first->find("accepted")->as_bool());
}

TEST_F(RuleCertificateProgram, NamesTheFirstRuleThatIsRejected) {
  ASSERT_EQ(verify("transpose-of-matmul,slice-of-first").code, 0);
  std::string proofs = text("p.jsonl");
  const std::string before = "\"complete\": ";
  const std::size_t second = proofs.find('\n');
  const std::size_t at = proofs.find(before, second);
  ASSERT_NE(at, std::string::npos);
  proofs.insert(at + before.size(), "9");
  ASSERT_TRUE(base::write_file(path("q.jsonl"), proofs).ok());
  const ProgramRun checked = check(path("q.jsonl"));
  EXPECT_EQ(checked.code, 6) << checked.out;
  EXPECT_THAT(checked.err, HasSubstr("q.jsonl:2: the proof shows something else"));
}

// egret-check itself must not consist of what proves rules and places plans.
TEST_F(RuleCertificateProgram, IsReachedByTheProgramOfModels) {
  ASSERT_EQ(verify("transpose-of-relu").code, 0);
  const ProgramRun checked = check("--rule " + path("p.jsonl"), "egret-check");
  EXPECT_EQ(checked.code, 0) << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("1 accepted, 0 need the solver, 0 rejected"));
  EXPECT_EQ(check("--rule " + path("none.jsonl"), "egret-check").code, 7);  // there is no such file
  const ProgramRun plan = check("--plan --help", "egret-check");
  EXPECT_EQ(plan.code, 0);
  EXPECT_THAT(plan.out, HasSubstr("usage: egret-check-plan"));
}

TEST_F(RuleCertificateProgram, StatesRulesForAnotherProver) {
  ASSERT_EQ(verify("sum-of-matmuls,transpose-of-relu").code, 0);
  const ProgramRun stated =
      run_program("rules theorems " + path("p.jsonl") + " -o " + path("theorems"));
  ASSERT_EQ(stated.code, 0) << stated.err;
  EXPECT_THAT(stated.out, HasSubstr("2 rules, "));
  EXPECT_THAT(text("theorems/Laws.v"), HasSubstr("Ltac show_equal"));
  const std::string sum = text("theorems/Rule_sum_of_matmuls.v");
  EXPECT_THAT(sum, HasSubstr("From Egret Require Import Laws."));
  EXPECT_THAT(sum, HasSubstr("Sum "));
  EXPECT_THAT(sum, HasSubstr("Qed."));
  EXPECT_EQ(run_program("rules theorems " + path("p.jsonl")).code, 2);
}

TEST_F(RuleCertificateProgram, SaysWhatIsWrongWithItsArguments) {
  EXPECT_EQ(check("").code, 2);
  EXPECT_EQ(check("--sure").code, 2);
  ASSERT_TRUE(base::write_file(path("none.jsonl"), "").ok());
  EXPECT_EQ(check(path("none.jsonl")).code, 3);
  ASSERT_TRUE(base::write_file(path("other.jsonl"), "{\"schema_version\": 1}\n").ok());
  EXPECT_EQ(check(path("other.jsonl")).code, 3);
  EXPECT_EQ(check("--help").code, 0);
}

}  // namespace
}  // namespace egret::tools
