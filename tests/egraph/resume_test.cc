// SPDX-License-Identifier: Apache-2.0
// A long run that is killed (SIGKILL) again and again and goes on from its last snapshot each time.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/random.h"
#include "base/system/file.h"
#include "egraph/formats/egraph_snapshot.h"
#include "egraph/proofs/explainer.h"
#include "egraph/search/runner.h"
#include "egraph/workloads/workload.h"
#include "tests/egraph/explanation_workload.h"
#include "tests/egraph/state_text.h"

namespace egret::egraph {
namespace {

struct Run {
  std::string_view workload;
  std::uint64_t iterations;
  bool proofs = false;
};

// Some explanations, as text.
std::string explanations(const EGraph& egraph) {
  const EqualPairs pairs(egraph);
  Explainer explainer(egraph);
  base::Random random(3);
  std::string out;
  for (int i = 0; i < 100; ++i) {
    const auto [a, b] = pairs.draw(random);
    out += explainer.explain(a, b, {.shorten = i % 2 == 0})->flat_text();
  }
  return out;
}

// One process: goes on from the snapshot if there is one, writes one before each iteration, and in
// the end everything about the e-graph.
base::Status run_to_the_end(const Run& run, const std::string& snapshot,
                            const std::string& result) {
  const workloads::Workload workload = *workloads::find_workload(run.workload);
  OpTable ops;
  Syntax syntax(ops);
  const auto analysis = workload.theory.make_analysis(ops, syntax);
  EGRET_ASSIGN_OR_RETURN(const auto rules, syntax.rules(workload.theory.rules));
  auto egraph = std::make_unique<EGraph>(ops, analysis.get());
  const bool resumed = std::filesystem::exists(snapshot);
  std::vector<std::uint64_t> saved;
  if (resumed) {
    EGRET_ASSIGN_OR_RETURN(const SnapshotFile file, SnapshotFile::open(snapshot));
    EGRET_ASSIGN_OR_RETURN(egraph, load(file, ops, analysis.get()));
    EGRET_ASSIGN_OR_RETURN(const auto words, file.values<std::uint64_t>("runner"));
    saved.assign(words.begin(), words.end());
  } else {
    if (run.proofs) egraph->enable_proofs();
    for (const std::string_view term : workload.terms) {
      EGRET_RETURN_IF_ERROR(syntax.add_term(*egraph, term).status());
    }
  }
  Runner runner(*egraph, rules);
  EGRET_ASSIGN_OR_RETURN(auto scheduler, make_scheduler("backoff"));
  runner.set_scheduler(std::move(scheduler));
  runner.limits().iterations = run.iterations;
  runner.limits().nodes = Limits::kNone;
  if (resumed) EGRET_RETURN_IF_ERROR(runner.resume(saved));
  base::Status written;
  runner.hooks().before_iteration = [&](EGraph& now, const RunReport& report) {
    const std::vector<std::uint64_t> words = runner.save();
    if (resumed && report.iterations.empty()) return true;  // it is there
    SnapshotWriter writer;
    save(now, writer);
    writer.add_copy("runner", std::as_bytes(std::span(words)));
    written = writer.write(snapshot);
    return written.ok();
  };
  runner.run();
  EGRET_RETURN_IF_ERROR(written);
  return base::write_file(
      result, state_text(*egraph) + (run.proofs ? explanations(*egraph) : std::string()));
}

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Changes with each snapshot: every one is another file.
ino_t file_number(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

// Starts a process and kills it so many microseconds after it has written a snapshot of its own, or
// more; whether it came to its end before.
bool start_and_kill(const Run& run, const std::string& snapshot, const std::string& result,
                    std::uint64_t wait) {
  const ino_t before = file_number(snapshot);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(run_to_the_end(run, snapshot, result).ok() ? 0 : 1);
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    ::usleep(200);
    if (file_number(snapshot) == before) continue;
    ::usleep(static_cast<useconds_t>(wait));
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
    break;
  }
  EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
  return WIFEXITED(status);
}

void kill_again_and_again(const Run& run) {
  const std::string folder =
      ::testing::TempDir() + "egret_resume_" + std::to_string(::getpid()) + "/";
  std::filesystem::create_directory(folder);
  const base::Status whole = run_to_the_end(run, folder + "whole.snapshot", folder + "whole");
  ASSERT_TRUE(whole.ok()) << whole.message();
  base::Random random(5);
  std::uint64_t kills = 0;
  const auto wait = [&] { return kills == 0 ? 0 : random.below(20'000); };
  while (!start_and_kill(run, folder + "snapshot", folder + "result", wait())) {
    ASSERT_LE(++kills, run.iterations);  // each process got an iteration further
  }
  EXPECT_GT(kills, 0U);
  const std::string expected = read(folder + "whole");
  EXPECT_GT(expected.size(), 100'000U);
  EXPECT_TRUE(read(folder + "result") == expected);
  std::filesystem::remove_all(folder);
}

TEST(Resume, AKilledRunEndsWithTheSameBytes) { kill_again_and_again({"mm-10", 14}); }

TEST(Resume, AKilledRunOfAnAnalysisEndsWithTheSameBytes) {
  kill_again_and_again({"lambda-backoff-10", 10});
}

TEST(Resume, AKilledRunWithProofsEndsWithTheSameProofs) {
  kill_again_and_again({"math-backoff-10", 10, true});
}

}  // namespace
}  // namespace egret::egraph
