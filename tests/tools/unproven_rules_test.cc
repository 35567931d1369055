// SPDX-License-Identifier: Apache-2.0
// Every verb that runs rules on a program refuses rules without a proof.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/system/file.h"
#include "frontends/onnx.h"
#include "ir/graph/builder.h"
#include "tests/tools/folder_test.h"
#include "tools/frame/verb_table.h"

namespace egret::tools {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class UnprovenRules : public FolderTest {
 protected:
  void SetUp() override {
    ir::GraphBuilder b;
    b.output("y", b.add("relu", {b.input("x", {ir::DType::kF32, {4, 4}})}));
    const auto model = frontends::export_onnx(b.finish().value(), {}, {});
    ASSERT_TRUE(base::write_file(path("m.onnx"), model->bytes).ok());
    ASSERT_TRUE(base::write_file(path("r.rules"), "rule drop-relu relu(?x) => ?x\n").ok());
  }

  // The verb on the model, twice if it takes two, with these rules; "" where it has no --rules.
  std::string words(const Verb& verb) const {
    const std::unique_ptr<Command> command = verb.make();
    Arguments arguments;
    command->declare(arguments);
    const base::OptionSet& options = arguments.set();
    if (options.find("rules") == nullptr) return "";
    EXPECT_FALSE(arguments.positionals().empty()) << verb.name;
    std::string words = verb.name;
    for (std::size_t i = 0; i < arguments.positionals().size(); ++i) words += " " + path("m.onnx");
    words += " --rules " + path("r.rules");
    // That of `costs profile` is a machine's, of --collectives alone.
    const bool writes = options.find("output") != nullptr && options.find("collectives") == nullptr;
    if (writes) words += " -o " + path("out");
    if (options.find("mesh") != nullptr) words += " --mesh x=2";
    if (options.find("cost-db") != nullptr) words += " --cost-db " + path("costs.sqlite");
    return words;
  }
};

TEST_F(UnprovenRules, AreRefusedByEveryVerbThatRunsRules) {
  std::vector<std::string> seen;
  for (const Verb& verb : verbs()) {
    const std::string with_rules = words(verb);
    if (with_rules.empty()) continue;
    seen.push_back(verb.name);
    const ProgramRun run = run_program(with_rules);
    EXPECT_EQ(run.code, 2) << verb.name << ": " << run.err;
    EXPECT_THAT(run.err, AllOf(HasSubstr("not proven"), HasSubstr("drop-relu"))) << verb.name;
    EXPECT_FALSE(std::filesystem::exists(path("out"))) << verb.name;
  }
  EXPECT_THAT(seen, ::testing::IsSupersetOf(
                        {"optimize", "plan", "egraph dump", "egraph stats", "costs profile"}));
}

// Were it not for the proof, the rule would apply.
TEST_F(UnprovenRules, RunWithAllow) {
  const ProgramRun run = run_program("egraph stats " + path("m.onnx") +
                                     " --allow untested --rules " + path("r.rules"));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("drop-relu"));
}

}  // namespace
}  // namespace egret::tools
