// SPDX-License-Identifier: Apache-2.0
#include "tools/frame/command_line.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/formats/json.h"
#include "base/system/file.h"
#include "tests/tools/program_run.h"
#include "tools/frame/variables.h"
#include "tools/frame/verb_table.h"

namespace egret::tools {
namespace {

using testing::TestWithParam;

TEST(CommandLine, WithoutAVerbItExplainsItselfAsAUsageError) {
  const ProgramRun run = run_program("");
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_NE(run.err.find("usage: egret VERB"), std::string::npos);
}

TEST(CommandLine, MisspeltVerbsAndFlagsGetASuggestion) {
  ProgramRun run = run_program("docter");
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.err.find("did you mean \"doctor\"?"), std::string::npos) << run.err;
  run = run_program("doctor --quite");
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.err.find("unknown option --quite; did you mean \"--quiet\"?"), std::string::npos)
      << run.err;
  run = run_program("version extra");
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.err.find("unexpected argument \"extra\""), std::string::npos) << run.err;
  run = run_program("completion");
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.err.find("SHELL is missing"), std::string::npos) << run.err;
}

TEST(CommandLine, EveryVerbExplainsItselfAndHasAManualPage) {
  for (const Verb& verb : verbs()) {
    const ProgramRun help = run_program(verb.name + " --help");
    EXPECT_EQ(help.code, 0) << verb.name;
    EXPECT_EQ(help.out.find("usage: egret " + verb.name), 0U) << verb.name;
    EXPECT_NE(help.out.find("--json"), std::string::npos) << verb.name;
    const ProgramRun page = run_program("man " + verb.name);
    EXPECT_EQ(page.code, 0) << verb.name;
    EXPECT_NE(page.out.find(".SH EXIT STATUS"), std::string::npos) << verb.name;
  }
}

TEST(CommandLine, HelpSpeaksOfTheVerbsOwnOptions) {
  const std::string optimize = run_program("optimize --help").out;
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(optimize, "after this time [20s]")) << optimize;
  EXPECT_TRUE(has(optimize, "[4GiB]")) << optimize;
  EXPECT_TRUE(has(optimize, "TIME is a number with the unit ns")) << optimize;
  EXPECT_TRUE(has(optimize, "SIZE is a number with the unit KiB")) << optimize;
  EXPECT_FALSE(has(run_program("run --help").out, "may be repeated; may be repeated"));
  EXPECT_TRUE(has(run_program("run --help").out, "--output-folder FOLDER"));
  for (const Verb& verb : verbs()) {
    const std::string help = run_program(verb.name + " --help").out;
    const std::string footer = help.substr(help.rfind("Each option"));
    const std::size_t flag = footer.find("--");
    const std::string cited = footer.substr(flag, footer.find(':', flag) - flag);
    EXPECT_TRUE(has(help.substr(0, help.size() - footer.size()), cited.c_str()))
        << verb.name << " has no " << cited;
  }
  const std::string version = run_program("version --help").out;
  EXPECT_FALSE(has(version, "TIME is")) << version;
}

TEST(CommandLine, VariablesThatAreNoOptionsAreListed) {
  for (const char* words : {"help", "man"}) {
    const ProgramRun run = run_program(words);
    for (const VariableRow& row : kVariables)
      EXPECT_NE(run.out.find(row.name), std::string::npos) << words << " " << row.name;
  }
}

TEST(CommandLine, SuggestionsComeLast) {
  const ProgramRun run = run_program("zoo resnet19");
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.err.find("(`egret zoo --list` lists the models); did you mean \"resnet18\"?\n"),
            std::string::npos)
      << run.err;
}

TEST(CommandLine, GroupsOfVerbsExplainThemselves) {
  for (const char* group : {"rules", "egraph", "costs"}) {
    const std::string first_row = "Verbs:\n  " + std::string(group) + " ";
    for (const std::string& words :
         {std::string(group) + " --help", "help " + std::string(group)}) {
      const ProgramRun help = run_program(words);
      EXPECT_EQ(help.code, 0) << words;
      EXPECT_NE(help.out.find(first_row), std::string::npos) << words << help.out;
    }
    const ProgramRun alone = run_program(group);
    EXPECT_EQ(alone.code, 2) << group;
    EXPECT_NE(alone.err.find(first_row), std::string::npos) << alone.err;
  }
  const ProgramRun misspelt = run_program("rules lst");
  EXPECT_EQ(misspelt.code, 2);
  EXPECT_NE(misspelt.err.find("did you mean \"list\"?"), std::string::npos) << misspelt.err;
}

TEST(CommandLine, ConfigurationIsPrintedWithoutPositionalArguments) {
  for (const Verb& verb : verbs()) {
    const ProgramRun run = run_program(verb.name + " --print-config");
    EXPECT_EQ(run.code, 0) << verb.name << run.err;
    EXPECT_NE(run.out.find("[general]"), std::string::npos) << verb.name;
  }
}

TEST(CommandLine, JsonResultsCarryTheSchemaVersion) {
  for (const char* verb : {"version", "doctor", "help"}) {
    const ProgramRun run = run_program(std::string(verb) + " --json");
    const auto json = base::Json::parse(run.out);
    ASSERT_TRUE(json.ok()) << verb << ": " << run.out;
    EXPECT_EQ(*json->find("schema_version")->as_integer(), base::kJsonSchemaVersion) << verb;
  }
}

TEST(CommandLine, FormsThatAreNoJsonAreNotGivenForIt) {
  for (const char* form : {"text", "dot", "svg", "kernels"}) {
    const ProgramRun run = run_program("inspect --json --show " + std::string(form) + " m.onnx");
    EXPECT_EQ(run.code, 2) << form;
    EXPECT_NE(run.err.find("--json cannot be combined with --show"), std::string::npos) << run.err;
  }
}

TEST(CommandLine, JsonErrorsCarryCodeAndMessage) {
  const ProgramRun run = run_program("completion tcsh --json");
  EXPECT_EQ(run.code, 2);
  const auto json = base::Json::parse(run.out);
  ASSERT_TRUE(json.ok()) << run.out;
  EXPECT_EQ(*json->find("error")->find("code")->as_integer(), 2);
}

TEST(CommandLine, FlagsOverruleVariablesOverruleFiles) {
  const std::string folder = fresh_folder();
  ASSERT_TRUE(base::write_file(folder + "/f.toml", "[general]\nthreads = 3\n").ok());
  const std::string config = " --print-config --config " + folder + "/f.toml";
  EXPECT_NE(run_program("version" + config).out.find("threads = 3"), std::string::npos);
  EXPECT_NE(run_program("version" + config, "EGRET_THREADS=4").out.find("threads = 4"),
            std::string::npos);
  EXPECT_NE(run_program("version --threads 5" + config, "EGRET_THREADS=4").out.find("threads = 5"),
            std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST(CommandLine, UnknownConfigurationKeysAreErrorsWithTheirLine) {
  const std::string folder = fresh_folder();
  ASSERT_TRUE(base::write_file(folder + "/f.toml", "[general]\nthreds = 3\n").ok());
  const ProgramRun run = run_program("version --config " + folder + "/f.toml");
  EXPECT_EQ(run.code, 3);
  EXPECT_NE(run.err.find("f.toml:2: unknown key \"general.threds\"; did you mean"),
            std::string::npos)
      << run.err;
  EXPECT_EQ(run_program("version --config " + folder + "/none.toml").code, 7);
  std::filesystem::remove_all(folder);
}

TEST(CommandLine, UnknownVariablesAreMentioned) {
  const ProgramRun run = run_program("version", "EGRET_COLOUR=never");
  EXPECT_EQ(run.code, 0);
  EXPECT_NE(run.err.find("did you mean \"EGRET_COLOR\"?"), std::string::npos) << run.err;
  EXPECT_EQ(run_program("version --quiet", "EGRET_COLOUR=never").err, "");
}

TEST(CommandLine, OutputThatCannotBeWrittenIsAnError) {
  const ProgramRun run = run_program("help >/dev/full 2>&1; exit $? #");
  EXPECT_EQ(run.code, 7);
}

TEST(CommandLine, CompletionScriptsAreValid) {
  const std::string folder = fresh_folder();
  const ProgramRun bash = run_program("completion bash");
  ASSERT_EQ(bash.code, 0);
  ASSERT_TRUE(base::write_file(folder + "/completion.sh", bash.out).ok());
  EXPECT_EQ(std::system(("bash -n " + folder + "/completion.sh").c_str()), 0);
  const std::string ask = "bash -c '. " + folder +
                          "/completion.sh; COMP_WORDS=(egret doctor --color a); COMP_CWORD=3; "
                          "_egret; [ \"${COMPREPLY[*]}\" = \"auto always\" ]'";
  EXPECT_EQ(std::system(ask.c_str()), 0);
  EXPECT_EQ(run_program("completion zsh").code, 0);
  EXPECT_EQ(run_program("completion fish").code, 0);
  std::filesystem::remove_all(folder);
}

TEST(VerbTable, NamesAndFlagsFollowTheRules) {
  for (const Verb& verb : verbs()) {
    EXPECT_FALSE(verb.summary.empty()) << verb.name;
    EXPECT_FALSE(verb.summary.ends_with(".")) << verb.name;
    EXPECT_FALSE(verb.details.empty()) << verb.name;
    const std::unique_ptr<Command> command = verb.make();
    Arguments arguments;
    command->declare(arguments);
    for (const base::BoundOption& option : arguments.set().options()) {
      EXPECT_EQ(option.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"),
                std::string::npos)
          << option.name;
      EXPECT_FALSE(option.help.empty()) << option.name;
      EXPECT_FALSE(option.help.ends_with(".")) << option.name;
    }
  }
}

// Weights of 1.3 GB, of which half find a place.
TEST(CommandLine, RunningOutOfMemoryIsALimit) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers reserve more";
#endif
  const std::string folder = fresh_folder();
  const ProgramRun run = run_program("zoo --json --threads 1 bert-large -o " + folder + "/m.onnx",
                                     "OPENBLAS_NUM_THREADS=1 prlimit --as=1200000000");
  EXPECT_EQ(run.code, 5) << run.err;
  EXPECT_NE(run.err.find("not enough memory"), std::string::npos) << run.err;
  const auto json = base::Json::parse(run.out);
  ASSERT_TRUE(json.ok()) << run.out;
  EXPECT_EQ(*json->find("error")->find("code")->as_integer(), 5);
  EXPECT_FALSE(std::filesystem::exists(folder + "/m.onnx"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace egret::tools
