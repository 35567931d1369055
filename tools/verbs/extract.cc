// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/formats/text_table.h"
#include "base/formats/units.h"
#include "base/stop.h"
#include "base/timer.h"
#include "driver/report/extract_page.h"
#include "egraph/formats/serialized_egraph.h"
#include "extract/core/constraints.h"
#include "extract/core/extractor.h"
#include "extract/core/option_help.h"
#include "tools/arguments/report_option.h"
#include "tools/frame/build_info.h"
#include "tools/frame/verb.h"

namespace egret::tools {
namespace {

struct ExtractVerbOptions {
  std::string extractor = "auto";
  double extract_time = 60;
  bool ignore_missing_roots = false;
  std::vector<std::string> forbid;
  std::vector<std::string> force;

  static const base::OptionTable<ExtractVerbOptions>& table() {
    using E = ExtractVerbOptions;
    std::vector<std::string> names;
    for (const extract::ExtractorRow& row : extract::extractors()) names.emplace_back(row.name);
    static const base::OptionTable<E> rows{
        "extract",
        {{"extractor", &E::extractor, extract::kExtractorHelp, base::one_of(names)},
         {"extract-time", &E::extract_time, extract::kExtractTimeHelp, base::seconds()},
         {"ignore-missing-roots", &E::ignore_missing_roots,
          "Ignore roots that name no e-class, instead of rejecting the file"},
         {"forbid", &E::forbid, extract::kForbidHelp},
         {"force", &E::force,
          "Node that the answer must contain, even if no chosen node needs it"}}};
    return rows;
  }
};

class Extract final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("FILE", path_, "An e-graph in JSON, or - for standard input");
    arguments.options(options_);
    arguments.options(report_);
  }

  base::Result<ExitCode> run(Console& console) override {
    EGRET_RETURN_IF_ERROR(check_report(report_, {{"the e-graph", path_}}));
    egraph::SerializedOptions reading;
    reading.ignore_missing_roots = options_.ignore_missing_roots;
    EGRET_ASSIGN_OR_RETURN(const egraph::SerializedEGraph file,
                           egraph::read_serialized(path_, reading));
    EGRET_ASSIGN_OR_RETURN(const extract::ConstrainedProblem constrained, constrain(file));
    const extract::Problem problem = constrained.problem();
    extract::Options how;
    how.time_limit_s = options_.extract_time;
    how.should_stop = [] { return base::stop_requested(); };
    const base::Stopwatch watch;
    EGRET_ASSIGN_OR_RETURN(const extract::Solution solution,
                           extract::find_extractor(options_.extractor)->extract(problem, how));
    const double seconds = watch.seconds();
    EGRET_RETURN_IF_ERROR(extract::check_solution(problem, solution));
    const base::Json json = to_json(file, solution, seconds);
    EGRET_RETURN_IF_ERROR(
        result_and_report(console, json, to_text(solution, seconds), report_, [&] {
          return driver::extract_page(file, solution,
                                      {.file = std::filesystem::path(path_).filename().string(),
                                       .extractor = options_.extractor,
                                       .seconds = seconds,
                                       .version = std::string(build_info().version)},
                                      json);
        }));
    const bool open = solution.quality != extract::Quality::kOptimal;
    const bool out_of_time = open && seconds >= options_.extract_time;
    return out_of_time && console.is_given("extract-time") ? ExitCode::kLimit : ExitCode::kOk;
  }

 private:
  base::Result<extract::ConstrainedProblem> constrain(const egraph::SerializedEGraph& file) const {
    std::vector<extract::NodeIndex> forbidden, forced;
    for (const std::string& name : options_.forbid) {
      const std::size_t before = forbidden.size();
      for (extract::NodeIndex node = 0; node < file.node_names.size(); ++node) {
        if (file.node_names[node] == name || file.ops.name(file.view.node_op[node]) == name)
          forbidden.push_back(node);
      }
      if (forbidden.size() == before)
        return base::usage_error("--forbid: unknown operator or node '" + name + "'");
    }
    for (const std::string& name : options_.force) {
      const auto found = std::ranges::find(file.node_names, name);
      if (found == file.node_names.end())
        return base::usage_error("--force: unknown node '" + name + "'");
      forced.push_back(static_cast<extract::NodeIndex>(found - file.node_names.begin()));
    }
    return extract::constrained({file.view, file.costs}, forbidden, forced);
  }

  static std::string_view status(const extract::Solution& solution) {
    return solution.quality == extract::Quality::kOptimal ? "optimal" : "feasible";
  }

  base::Json to_json(const egraph::SerializedEGraph& file, const extract::Solution& solution,
                     double seconds) const {
    base::Json json = base::versioned_json();
    json.set("extractor", options_.extractor).set("dag_cost", solution.dag_cost);
    json.set("tree_cost",
             std::isfinite(solution.tree_cost) ? base::Json(solution.tree_cost) : base::Json());
    json.set("bound", std::isfinite(solution.bound) ? base::Json(solution.bound) : base::Json());
    json.set("status", status(solution)).set("seconds", seconds);
    json.set("notes", base::Json::array(solution.notes));
    std::vector<base::Json::Member> choices;
    for (extract::ClassIndex c = 0; c < solution.choice.size(); ++c) {
      if (solution.choice[c] == extract::kNoNode) continue;
      choices.emplace_back(file.class_names[c], file.node_names[solution.choice[c]]);
    }
    json.set("choices", base::Json::from_members(std::move(choices)));
    return json;
  }

  static std::string to_text(const extract::Solution& solution, double seconds) {
    std::size_t chosen = 0;
    for (const extract::NodeIndex node : solution.choice) chosen += node != extract::kNoNode;
    base::TextTable facts({{""}, {""}});
    facts.row({"cost", base::format_short(solution.dag_cost) + ", each node once"});
    facts.row({"tree", base::format_short(solution.tree_cost) + ", at each use"});
    facts.row({"bound", base::format_short(solution.bound) + ", " + std::string(status(solution))});
    facts.row({"nodes", base::format_count(static_cast<std::int64_t>(chosen))});
    facts.row({"time", base::format_seconds(seconds)});
    for (const std::string& note : solution.notes) facts.row({"note", note});
    return facts.render();
  }

  std::string path_;
  ExtractVerbOptions options_;
  ReportOptions report_;
};

}  // namespace

Verb extract_verb() {
  return {"extract", "Choose the cheapest terms of an e-graph",
          "The e-graph and its costs come from a file in egraph-serialize JSON, the format of egg, "
          "egglog and the extraction gym. An independent checker verifies the answer before it is "
          "printed. The status \"optimal\" means that a proof was found. If the time limit comes "
          "first, the bound limits the distance to the optimum; the exit code is then 5 if "
          "--extract-time was set.",
          make_command<Extract>};
}

}  // namespace egret::tools
