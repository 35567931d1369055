// SPDX-License-Identifier: Apache-2.0
// egret-check IN.onnx OUT.onnx CERTIFICATE.json [FILE.rules ...]
// egret-check --rule PROOFS ...
// egret-check --plan MODEL.onnx PLAN CERTIFICATE [FILE.rules ...]
//
// Checks that OUT computes what IN computes, by the proof that `egret optimize --certificate`
// wrote. Both models are read from their files. docs/trust.md says what this program consists of.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/formats/json.h"
#include "base/status.h"
#include "base/system/file.h"
#include "base/system/freed_memory.h"
#include "frontends/certified_reading.h"
#include "frontends/onnx.h"
#include "rules/replay/rule_library.h"
#include "verifier/replay/certificate.h"
#include "verifier/replay/program_replay.h"

namespace egret::tools {
namespace {

constexpr std::string_view kHelp =
    R"(usage: egret-check [OPTIONS] IN.onnx OUT.onnx CERTIFICATE [FILE.rules ...]
       egret-check --rule ...    the same as egret-check-rule ...
       egret-check --plan ...    the same as egret-check-plan ...

Check the proof that `egret optimize IN.onnx -o OUT.onnx --certificate CERTIFICATE` wrote: each
output of OUT equals that of IN in real arithmetic. Both models are read from their files. Each step
is checked by itself, and each rule must be known as proven: it comes with Egret, or is in one of
the FILE.rules, with its proof in FILE.rules.status.json.

Options:
  --json       Print the result as one JSON document
  --help       Print this text

Exit codes: 0 accepted, 2 usage error, 3 malformed model, 4 unsupported model, 6 rejected; the first
wrong step is named. Others as of egret.
)";

struct Arguments {
  std::vector<std::string> files;
  bool json = false;
  bool help = false;
};

base::Result<Arguments> parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view one = argv[i];
    if (one == "--json") {
      arguments.json = true;
    } else if (one == "--help" || one == "-h") {
      arguments.help = true;
    } else if (one.starts_with("-") && one != "-") {
      return base::usage_error("unknown option '" + std::string(one) + "'");
    } else {
      arguments.files.emplace_back(one);
    }
  }
  if (!arguments.help && arguments.files.size() < 3)
    return base::usage_error("IN.onnx, OUT.onnx and CERTIFICATE are needed (see --help)");
  return arguments;
}

void print(const verifier::Certificate& certificate, const verifier::ProgramReplay& replayed,
           double seconds, bool as_json) {
  const verifier::ReplayReport& report = replayed.report;
  base::Json sizes = base::Json::object();
  for (const auto& [name, size] : certificate.sizes) sizes.set(name, size);
  for (const auto& [name, range] : replayed.open)
    sizes.set(name, std::to_string(range.least) + ".." + std::to_string(range.most));
  if (!as_json) {
    std::printf(
        "accepted: %zu outputs%s; %zu steps: %zu instances of %zu proven rules, %zu folded "
        "constants, %zu recomputed by code; %zu facts about open sizes; %.2f s\n",
        certificate.outputs.size(), sizes.members().empty() ? "" : (" for " + sizes.dump()).c_str(),
        report.steps, report.rule_steps, certificate.rules.size(), report.folds, report.code_steps,
        certificate.obligations.size(), seconds);
    for (const std::string& one : replayed.assumptions)
      std::printf("assumed of the sizes: %s\n", one.c_str());
    if (certificate.reals)
      std::printf("nodes that count on rounding are taken as real arithmetic (--fp reals)\n");
    return;
  }
  base::Json assumptions = base::Json::array();
  for (const std::string& one : replayed.assumptions) assumptions.push(one);
  base::Json made = base::versioned_json();
  made.set("accepted", true).set("outputs", certificate.outputs.size()).set("sizes", sizes);
  made.set("assumptions", std::move(assumptions)).set("reals", certificate.reals);
  made.set("steps", report.steps).set("rules", certificate.rules.size());
  made.set("rule_steps", report.rule_steps).set("folds", report.folds);
  made.set("code_steps", report.code_steps).set("size_facts", certificate.obligations.size());
  made.set("terms", report.terms).set("seconds", seconds);
  std::printf("%s\n", made.dump().c_str());
}

// Rules and plans have programs of their own in the same folder, so that this one need not trust
// what they consist of. Returns only if there is none.
base::Status handed_over(std::string_view to, char** argv) {
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  const std::string program = self.parent_path() / ("egret-check-" + std::string(to));
  execv(program.c_str(), argv + 1);
  return base::unavailable("cannot start " + program);
}

base::Status run(int argc, char** argv) {
  for (const std::string_view to : {"rule", "plan"}) {
    if (argc > 1 && argv[1] == "--" + std::string(to)) return handed_over(to, argv);
  }
  EGRET_ASSIGN_OR_RETURN(const Arguments arguments, parse(argc, argv));
  if (arguments.help) {
    std::printf("%s", kHelp.data());
    return base::ok();
  }
  base::keep_freed_memory();
  const auto start = std::chrono::steady_clock::now();
  EGRET_ASSIGN_OR_RETURN(
      const std::string json,
      base::read_file(arguments.files[2], std::numeric_limits<std::int64_t>::max()));
  auto certificate = verifier::parse_certificate(json);
  if (!certificate.ok())
    return base::mismatch(certificate.status().message()).at(arguments.files[2]);
  const std::vector<std::string> files(arguments.files.begin() + 3, arguments.files.end());
  EGRET_ASSIGN_OR_RETURN(const rules::RuleLibrary rules,
                         rules::RuleLibrary::read(files, &certificate->rules));
  frontends::CertifiedModels models(
      [&](const auto& reading) { return frontends::import_onnx(arguments.files[0], reading); },
      [&](const auto& reading) { return frontends::import_onnx(arguments.files[1], reading); });
  const auto reading = [&](const verifier::ExampleOf& example_of) {
    return frontends::certified_reading(certificate->sizes, !certificate->reals, example_of);
  };
  EGRET_ASSIGN_OR_RETURN(
      const verifier::ProgramReplay replayed,
      verifier::replay_programs(
          *certificate, [&](const auto& example) { return models.first(reading(example)); },
          [&](const auto& example) { return models.second(reading(example)); }, rules));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  print(*certificate, replayed, seconds.count(), arguments.json);
  return base::ok();
}

}  // namespace
}  // namespace egret::tools

int main(int argc, char** argv) {
  try {
    const egret::base::Status status = egret::tools::run(argc, argv);
    if (!status.ok()) std::fprintf(stderr, "egret-check: error: %s\n", status.message().c_str());
    return exit_code(status.code());
  } catch (const egret::base::CheckFailure& failure) {
    std::fprintf(stderr, "egret-check: internal error at %s:%d\n", failure.file, failure.line);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "egret-check: error: out of memory\n");
    return exit_code(egret::base::StatusCode::kLimit);
  }
  return 1;
}
