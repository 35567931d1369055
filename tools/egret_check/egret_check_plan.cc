// SPDX-License-Identifier: Apache-2.0
// egret-check-plan IN.onnx PLAN.json CERTIFICATE.json [FILE.rules ...]
//
// Checks that the ranks of PLAN compute what IN computes, by the proof that `egret plan
// --certificate` wrote. It is a program of its own, so that egret-check need not trust the laws of
// placements. docs/trust.md says what both consist of.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/formats/json.h"
#include "base/status.h"
#include "base/system/file.h"
#include "base/system/freed_memory.h"
#include "frontends/bindings.h"
#include "frontends/certified_reading.h"
#include "frontends/onnx.h"
#include "ir/graph/open_sizes.h"
#include "parallel/replay/plan_certificate.h"
#include "parallel/replay/plan_replay.h"
#include "rules/replay/rule_library.h"

namespace egret::tools {
namespace {

constexpr std::string_view kHelp =
    R"(usage: egret-check-plan [OPTIONS] IN.onnx PLAN.json CERTIFICATE [FILE.rules ...]

Check the proof that `egret plan IN.onnx -o PLAN.json --certificate CERTIFICATE` wrote: the programs
of all ranks together compute the outputs of IN in real arithmetic. Each operator on parts must
follow a law of placements, each exchange must fit what its ranks hold, and the program without
placements must equal the model by steps that are checked one by one. Rules are those that come with
Egret, and those of FILE.rules with FILE.rules.status.json. The sizes and the training step that the
plan was made for are printed, and the number of nodes that count on rounding: rules may regroup them.

Options:
  --json       Print the result as one JSON document
  --help       Print this text

Exit codes: 0 accepted, 2 usage error, 3 malformed model, 4 unsupported model, 6 rejected; the first
wrong node or step is named. Others as of egret.
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
    return base::usage_error("IN.onnx, PLAN.json and CERTIFICATE are needed (see --help)");
  return arguments;
}

base::Result<std::string> read(const std::string& path) {
  return base::read_file(path, std::numeric_limits<std::int64_t>::max());
}

struct Model {
  ir::Graph graph;
  std::vector<std::string> bind;         // the sizes that the plan was made for
  std::size_t counting_on_rounding = 0;  // nodes, where rules may regroup them
};

base::Result<Model> read_model(const std::string& path, const base::Json& plan, bool has_rules) {
  Model result;
  if (const base::Json* const given = plan.find("bind"); given != nullptr && given->is_array()) {
    for (const base::Json& one : given->items()) {
      EGRET_ASSIGN_OR_RETURN(result.bind.emplace_back(), one.as_string());
    }
  }
  frontends::ImportOptions options;
  EGRET_ASSIGN_OR_RETURN(options.bind, frontends::parse_bindings(result.bind));
  EGRET_ASSIGN_OR_RETURN(frontends::ImportedModel model, frontends::import_onnx(path, options));
  if (!ir::open_sizes(model.graph).empty())
    return base::mismatch("the plan does not bind these sizes of the model: " +
                          ir::open_inputs(model.graph));
  result.graph = std::move(model.graph);
  if (has_rules) {
    EGRET_ASSIGN_OR_RETURN(
        const auto kept,
        frontends::import_onnx(path, frontends::certified_reading(options.bind, true, {})));
    result.counting_on_rounding = kept.info.opaque_nodes.size();
  }
  return result;
}

void print(const parallel::PlanCertificate& certificate, const parallel::PlanReplayReport& report,
           const Model& read, double seconds, bool as_json) {
  const verifier::ReplayReport& model = report.model;
  const base::Json bind = base::Json::array(read.bind);
  if (!as_json) {
    std::printf(
        "accepted: %zu outputs on %s%s; %zu nodes of a rank: %zu uses of %zu laws, %zu exchanges, "
        "%zu rings; %zu steps: %zu instances of %zu rules, %zu folded constants, %zu recomputed by "
        "code; %.2f s\n",
        certificate.model.outputs.size(), to_string(report.mesh).c_str(),
        read.bind.empty() ? "" : (" for " + bind.dump()).c_str(), report.nodes, report.law_steps,
        report.laws, report.exchanges, report.rings, model.steps, model.rule_steps,
        certificate.model.rules.size(), model.folds, model.code_steps, seconds);
    if (report.training)
      std::printf("of the training step with %s\n", report.training->dump().c_str());
    if (read.counting_on_rounding > 0)
      std::printf("%zu nodes that count on rounding are taken as real arithmetic\n",
                  read.counting_on_rounding);
    return;
  }
  base::Json made = base::versioned_json();
  made.set("accepted", true).set("outputs", certificate.model.outputs.size());
  made.set("bind", bind).set("nodes_as_reals", read.counting_on_rounding);
  if (report.training) made.set("training", *report.training);
  made.set("mesh", to_string(report.mesh)).set("nodes", report.nodes).set("laws", report.laws);
  made.set("law_steps", report.law_steps).set("exchanges", report.exchanges);
  made.set("rings", report.rings).set("steps", model.steps);
  made.set("rules", certificate.model.rules.size()).set("rule_steps", model.rule_steps);
  made.set("folds", model.folds).set("code_steps", model.code_steps).set("seconds", seconds);
  std::printf("%s\n", made.dump().c_str());
}

base::Status run(int argc, char** argv) {
  EGRET_ASSIGN_OR_RETURN(const Arguments arguments, parse(argc, argv));
  if (arguments.help) {
    std::printf("%s", kHelp.data());
    return base::ok();
  }
  base::keep_freed_memory();
  const auto start = std::chrono::steady_clock::now();
  EGRET_ASSIGN_OR_RETURN(const std::string proof, read(arguments.files[2]));
  const auto certificate = parallel::parse_plan_certificate(proof);
  if (!certificate.ok())
    return base::mismatch(certificate.status().message()).at(arguments.files[2]);
  EGRET_ASSIGN_OR_RETURN(const std::string text, read(arguments.files[1]));
  const auto plan = base::Json::parse(text);
  if (!plan.ok() || !plan->is_object()) return base::mismatch("no plan").at(arguments.files[1]);
  EGRET_ASSIGN_OR_RETURN(const Model model,
                         read_model(arguments.files[0], *plan, !certificate->model.rules.empty()));
  const std::vector<std::string> files(arguments.files.begin() + 3, arguments.files.end());
  EGRET_ASSIGN_OR_RETURN(const rules::RuleLibrary rules,
                         rules::RuleLibrary::read(files, &certificate->model.rules));
  EGRET_ASSIGN_OR_RETURN(const parallel::PlanReplayReport report,
                         parallel::replay_plan(*certificate, *plan, model.graph, rules));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  print(*certificate, report, model, seconds.count(), arguments.json);
  return base::ok();
}

}  // namespace
}  // namespace egret::tools

int main(int argc, char** argv) {
  try {
    const egret::base::Status status = egret::tools::run(argc, argv);
    if (!status.ok())
      std::fprintf(stderr, "egret-check-plan: error: %s\n", status.message().c_str());
    return exit_code(status.code());
  } catch (const egret::base::CheckFailure& failure) {
    std::fprintf(stderr, "egret-check-plan: internal error at %s:%d\n", failure.file, failure.line);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "egret-check-plan: error: out of memory\n");
    return exit_code(egret::base::StatusCode::kLimit);
  }
  return 1;
}
