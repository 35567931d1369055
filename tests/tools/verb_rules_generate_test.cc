// SPDX-License-Identifier: Apache-2.0
// `egret rules generate`: the same files with any number of threads, after being killed, and within
// its memory.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "base/formats/json.h"
#include "base/system/file.h"
#include "tests/paths.h"
#include "tests/tools/program_run.h"

namespace egret::tools {
namespace {

constexpr const char* kOperators = "add,relu,transpose";

std::string generate(const std::string& folder) {
  return std::string("rules generate --ops ") + kOperators + " --max-ops 2 --json -o " + folder;
}

// What a generation leaves but for its report, which has seconds in it.
std::string files_in(const std::string& folder) {
  return base::read_file(folder + "/generated.rules", 1 << 24).value_or("no rules") +
         base::read_file(folder + "/generated.rules.status.json", 1 << 24).value_or("no status");
}

std::string whole_run() {
  const std::string folder = fresh_folder();
  const ProgramRun run = run_program(generate(folder), "EGRET_THREADS=1");
  EXPECT_EQ(run.code, 0) << run.err;
  std::string files = files_in(folder);
  std::filesystem::remove_all(folder);
  return files;
}

std::size_t decisions_in(const std::string& folder) {
  const std::string log = base::read_file(folder + "/decisions.jsonl", 1 << 24).value_or("");
  const auto lines = static_cast<std::size_t>(std::ranges::count(log, '\n'));
  return lines > 0 ? lines - 1 : 0;  // the first names what decisions depend on
}

// Starts a generation and kills it once it has kept so many decisions; false when it was done
// before.
bool kill_after(const std::string& folder, std::size_t decisions) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("EGRET_THREADS", "2", 1);
    ::close(1);
    ::close(2);
    ::execl(EGRET_BINARY_DIR "/bin/egret", "egret", "rules", "generate", "--ops", kOperators,
            "--max-ops", "2", "-o", folder.c_str(), nullptr);
    ::_exit(127);
  }
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (decisions_in(folder) >= decisions) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      return WIFSIGNALED(status);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

TEST(GenerateRules, SaysTheSameWithAnyNumberOfThreads) {
  const std::string folder = fresh_folder();
  const ProgramRun run = run_program(generate(folder), "EGRET_THREADS=2");
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(files_in(folder), whole_run());
  std::filesystem::remove_all(folder);
}

TEST(GenerateRules, GoesOnToTheSameBytesWhereverItWasKilled) {
  const std::string whole = whole_run();
  const std::string folder = fresh_folder();
  int killed = 0;
  for (const std::size_t decisions : {1, 4, 8, 12}) killed += kill_after(folder, decisions) ? 1 : 0;
  EXPECT_GE(killed, 3);
  const ProgramRun last = run_program(generate(folder), "EGRET_THREADS=2");
  ASSERT_EQ(last.code, 0) << last.err;
  const auto report = base::Json::parse(last.out);
  ASSERT_TRUE(report.ok());
  EXPECT_GE(report->find("from_log")->as_integer().value_or(0), 4) << "nothing was kept";
  EXPECT_EQ(files_in(folder), whole);
  EXPECT_FALSE(std::filesystem::exists(folder + "/decisions.jsonl"));
  std::filesystem::remove_all(folder);
}

TEST(GenerateRules, EndsWithinItsMemoryAndKeepsWhatItFound) {
  const std::string folder = fresh_folder();
  const ProgramRun run = run_program(generate(folder) + " --generate-memory 1MiB");
  EXPECT_EQ(run.code, 5) << run.err;
  const auto report = base::Json::parse(run.out);
  ASSERT_TRUE(report.ok()) << run.out;
  EXPECT_NE(report->find("limit")->as_string().value_or(""), "");
  EXPECT_TRUE(std::filesystem::exists(folder + "/generated.rules"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace egret::tools
