// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "base/stop.h"
#include "base/text_table.h"
#include "base/timer.h"
#include "base/units.h"
#include "egraph/serialized_egraph.h"
#include "extract/extractor.h"
#include "tools/verb.h"

namespace egret::tools {
namespace {

struct ExtractVerbOptions {
  std::string extractor = "auto";
  double time = 60;
  bool ignore_missing_roots = false;

  static const base::OptionTable<ExtractVerbOptions>& table() {
    using E = ExtractVerbOptions;
    std::vector<std::string> names;
    for (const extract::ExtractorRow& row : extract::extractors()) names.emplace_back(row.name);
    static const base::OptionTable<E> rows{
        "extract",
        {{"extractor", &E::extractor, "How terms are chosen", base::one_of(names)},
         {"time", &E::time, "Stop with the best answer so far after this time", base::seconds()},
         {"ignore-missing-roots", &E::ignore_missing_roots,
          "Leave out roots that name no class, instead of refusing the file"}}};
    return rows;
  }
};

class Extract final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("FILE", path_, "An e-graph in JSON, or - for one on standard input");
    arguments.options(options_);
  }

  base::Result<ExitCode> run(Console& console) override {
    egraph::SerializedOptions reading;
    reading.ignore_missing_roots = options_.ignore_missing_roots;
    EGRET_ASSIGN_OR_RETURN(const egraph::SerializedEGraph file,
                           egraph::read_serialized(path_, reading));
    const extract::Problem problem{file.view, file.costs};
    extract::Options how;
    how.time_limit_s = options_.time;
    how.should_stop = [] { return base::stop_requested(); };
    const base::Stopwatch watch;
    EGRET_ASSIGN_OR_RETURN(const extract::Solution solution,
                           extract::find_extractor(options_.extractor)->extract(problem, how));
    const double seconds = watch.seconds();
    EGRET_RETURN_IF_ERROR(extract::check_solution(problem, solution));
    console.result(to_json(file, solution, seconds), to_text(solution, seconds));
    const bool open = solution.quality != extract::Quality::kOptimal;
    return open && seconds >= options_.time ? ExitCode::kLimit : ExitCode::kOk;
  }

 private:
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
    base::Json choices = base::Json::object();
    for (extract::ClassIndex c = 0; c < solution.choice.size(); ++c) {
      if (solution.choice[c] == extract::kNoNode) continue;
      choices.set(file.class_names[c], file.node_names[solution.choice[c]]);
    }
    json.set("choices", std::move(choices));
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
    return facts.render();
  }

  std::string path_;
  ExtractVerbOptions options_;
};

}  // namespace

Verb extract_verb() {
  return {"extract", "Choose the cheapest terms of an e-graph",
          "The e-graph comes from a file in egraph-serialize JSON, as egg, egglog and the "
          "extraction gym write it; costs are the file's. The answer is checked by a program of "
          "its own before it is printed. \"optimal\" is said of proven answers only; where time "
          "runs out first the bound tells how far it can be from the best, and the exit code is "
          "that of a limit.",
          make_command<Extract>};
}

}  // namespace egret::tools
