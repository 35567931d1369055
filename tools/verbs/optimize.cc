// SPDX-License-Identifier: Apache-2.0
#include "driver/optimize.h"

#include <algorithm>

#include "base/formats/text_table.h"
#include "base/formats/units.h"
#include "tools/arguments/model_file.h"
#include "tools/arguments/output_file.h"
#include "tools/frame/allocator.h"
#include "tools/frame/build_info.h"
#include "tools/frame/verb.h"

namespace egret::tools {
namespace {

struct OutputOptions {
  std::string output;
  std::string external_data;

  static const base::OptionTable<OutputOptions>& table() {
    using O = OutputOptions;
    static const base::OptionTable<O> rows{
        "output",
        {{"output", &O::output, "Where the optimized model goes; - for standard output",
          base::output_file(), 'o'},
         {"external-data", &O::external_data,
          "File beside the output for the weights of models above 2 GiB (default: OUTPUT.data)",
          base::output_file()}}};
    return rows;
  }
};

base::Json counts_json(const std::map<std::string, int>& counts) {
  base::Json json = base::Json::object();
  for (const auto& [name, count] : counts) json.set(name, count);
  return json;
}

base::Json to_json(const driver::OptimizeReport& r) {
  base::Json json = base::versioned_json();
  json.set("status", r.status).set("stop_reason", r.stop_reason);
  json.set("operators_before", driver::operator_count(r.operators_before))
      .set("operators_after", driver::operator_count(r.operators_after));
  json.set("operators_before_by_kind", counts_json(r.operators_before));
  json.set("operators_after_by_kind", counts_json(r.operators_after));
  if (r.measured) {
    json.set("measured_before_s", r.measured_before.median_s)
        .set("measured_after_s", r.measured_after.median_s);
  }
  json.set("arena_bytes_before", r.arena_before).set("arena_bytes_after", r.arena_after);
  json.set("predicted_before_s", r.predicted_before_s)
      .set("predicted_after_s", r.predicted_after_s);
  json.set("kernels_before_s", r.kernels_before.seconds)
      .set("known_kernels_before_s", r.kernels_before.known_s);
  base::Json candidates = base::Json::array();
  for (const auto& candidate : r.candidates) {
    candidates.push(base::Json::object()
                        .set("name", candidate.name)
                        .set("operators", candidate.operators)
                        .set("predicted_s", candidate.predicted_s)
                        .set("kernels_s", candidate.kernels.seconds)
                        .set("known_kernels_s", candidate.kernels.known_s)
                        .set("measured_s", candidate.measured.median_s));
  }
  json.set("candidates", std::move(candidates)).set("chosen", r.chosen);
  base::Json rules = base::Json::array();
  for (const auto& use : r.rules_used) {
    rules.push(base::Json::object()
                   .set("name", use.name)
                   .set("count", use.count)
                   .set("status", use.status));
  }
  json.set("rules_used", std::move(rules)).set("rules_available", std::uint64_t{r.rules_available});
  json.set("rules_allowed", r.rules_allowed)
      .set("rules_not_proven", base::Json::array(r.rules_not_proven));
  json.set("e_nodes", r.e_nodes)
      .set("e_classes", r.e_classes)
      .set("iterations", std::uint64_t{r.iterations});
  if (r.graphs_seen > 0)
    json.set("graphs_rewritten", r.graphs_rewritten).set("graphs_seen", r.graphs_seen);
  json.set("search_s", r.search_s).set("apply_s", r.apply_s).set("rebuild_s", r.rebuild_s);
  const double gap = r.extraction_cost_s > 0 ? 1 - r.extraction_bound_s / r.extraction_cost_s : 0;
  json.set("extraction", base::Json::object()
                             .set("extractor", r.extractor)
                             .set("cost", r.extraction_cost_s)
                             .set("bound", r.extraction_bound_s)
                             .set("gap", gap)
                             .set("status", r.extraction_status)
                             .set("cost_model", r.cost_model)
                             .set("operators_measured", r.operators_measured)
                             .set("operators_estimated", r.operators_estimated)
                             .set("predicted_interpolated", r.predicted_interpolated)
                             .set("predicted_estimated", r.predicted_estimated)
                             .set("rates_measured", r.rates.measured)
                             .set("notes", base::Json::array(r.extraction_notes)));
  if (r.checked) {
    json.set("check", base::Json::object()
                          .set("max_error", r.check.max_error)
                          .set("bound", r.check.bound)
                          .set("passed", r.check.passed)
                          .set("vacuous_output", r.check.vacuous));
  }
  base::Json phases = base::Json::object();
  for (const auto& [name, seconds] : r.seconds_by_phase) phases.set(name, seconds);
  json.set("seconds", r.seconds).set("seconds_by_phase", std::move(phases));
  return json;
}

std::string operators_text(const driver::OptimizeReport& r) {
  base::TextTable table(
      {{"operator"}, {"before", base::Align::kRight}, {"after", base::Align::kRight}});
  std::map<std::string, std::pair<int, int>> kinds;
  for (const auto& [name, count] : r.operators_before) kinds[name].first = count;
  for (const auto& [name, count] : r.operators_after) kinds[name].second = count;
  for (const auto& [name, counts] : kinds) {
    table.row({name, std::to_string(counts.first), std::to_string(counts.second)});
  }
  table.rule();
  table.row({"all", std::to_string(driver::operator_count(r.operators_before)),
             std::to_string(driver::operator_count(r.operators_after))});
  return table.render();
}

std::string rules_text(const driver::OptimizeReport& r) {
  if (r.rules_used.empty()) return "no rule made a node of the result\n";
  base::TextTable table({{"rule"}, {"nodes", base::Align::kRight}, {"status"}});
  for (const auto& use : r.rules_used) table.row({use.name, std::to_string(use.count), use.status});
  return table.render();
}

// Who ran against the original.
std::string race_text(const driver::OptimizeReport& r) {
  base::TextTable table({{"candidate"},
                         {"operators", base::Align::kRight},
                         {"predicted", base::Align::kRight},
                         {"measured", base::Align::kRight}});
  table.row({"original", std::to_string(driver::operator_count(r.operators_before)),
             base::format_seconds(r.predicted_before_s),
             base::format_seconds(r.measured_before.median_s)});
  for (const auto& candidate : r.candidates) {
    table.row({candidate.name + (candidate.name == r.chosen ? " (written)" : ""),
               std::to_string(candidate.operators), base::format_seconds(candidate.predicted_s),
               base::format_seconds(candidate.measured.median_s)});
  }
  return table.render() + "\n";
}

// What is known of the rules that could run.
std::string rules_known_text(const driver::OptimizeReport& r) {
  if (r.rules_not_proven.empty()) return "all proven";
  constexpr std::size_t kNamed = 5;
  std::string text = std::to_string(r.rules_not_proven.size()) + " of " +
                     std::to_string(r.rules_available) + " not proven, --allow " + r.rules_allowed +
                     ": ";
  for (std::size_t i = 0; i < std::min(kNamed, r.rules_not_proven.size()); ++i)
    text += (i > 0 ? ", " : "") + r.rules_not_proven[i];
  return text + (r.rules_not_proven.size() > kNamed ? ", and more" : "");
}

// What the prediction rests on beside measurements.
std::string not_measured_text(const driver::OptimizeReport& r) {
  std::string text;
  if (r.predicted_interpolated > 0)
    text += ", " + base::counted(r.predicted_interpolated, "operator") + " interpolated";
  if (r.predicted_estimated > 0) {
    text += ", " + base::counted(r.predicted_estimated, "operator") + " estimated at " +
            (r.rates.measured ? "measured" : "assumed") + " rates";
  }
  return text;
}

std::string summary_text(const driver::OptimizeReport& r) {
  base::TextTable table({{""}, {""}});
  if (r.measured) {
    const double ratio = r.measured_before.median_s / r.measured_after.median_s;
    table.row({"measured", base::format_seconds(r.measured_before.median_s) + " -> " +
                               base::format_seconds(r.measured_after.median_s) + "  (" +
                               base::format_short(ratio) + " times as fast)"});
  }
  table.row({"predicted", base::format_seconds(r.predicted_before_s) + " -> " +
                              base::format_seconds(r.predicted_after_s) + "  by " + r.cost_model +
                              " cost" + not_measured_text(r)});
  if (r.graphs_seen > 0) {
    table.row({"search", base::counted(static_cast<std::int64_t>(r.graphs_seen), "graph") + ", " +
                             base::format_count(static_cast<std::int64_t>(r.graphs_rewritten)) +
                             " of them rewritten, stopped: " + r.stop_reason});
  } else {
    table.row({"saturation",
               base::counted(static_cast<std::int64_t>(r.e_nodes), "e-node") + " in " +
                   base::counted(static_cast<std::int64_t>(r.e_classes), "class", "classes") +
                   ", " + base::counted(static_cast<std::int64_t>(r.iterations), "iteration") +
                   ", stopped: " + r.stop_reason});
  }
  table.row({"extraction", r.extractor + ", " + r.extraction_status +
                               (r.extraction_status == "optimal" ? "" : " (no bound proven)")});
  table.row({"arena", base::format_bytes(r.arena_before) + " -> " +
                          base::format_bytes(r.arena_after) + " of activations"});
  for (const std::string& note : r.extraction_notes) table.row({"note", note});
  table.row({"rules", rules_known_text(r)});
  table.row({"check", r.checked                ? driver::to_string(r.check)
                      : r.status == "improved" ? "not made (--no-check)"
                                               : "not made"});
  table.row({"result", r.status == "improved" ? "improved"
                       : r.measured           ? "the original is the fastest; written unchanged"
                                              : "written unchanged"});
  std::string phases;
  for (const auto& [name, seconds] : r.seconds_by_phase)
    phases += ", " + name + " " + base::format_seconds(seconds);
  table.row({"time", base::format_seconds(r.seconds) + phases});
  return table.render();
}

class Optimize final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("MODEL", path_, "An ONNX file, or - for standard input");
    arguments.options(output_);
    arguments.options(model_);
    arguments.options(options_);
  }

  base::Result<ExitCode> run(Console& console) override {
    keep_freed_memory();
    if (output_.output.empty()) return base::usage_error("say where the result goes with -o FILE");
    options_.threads = console.options().threads;
    const std::string external =
        output_.external_data.empty() ? external_data_of(output_.output) : output_.external_data;
    std::vector<InputFile> inputs = rule_files(options_.rules);
    inputs.push_back(cost_database(options_.cost_db));
    for (const std::string& output : {output_.output, external})
      EGRET_RETURN_IF_ERROR(check_not_input(output, inputs));
    EGRET_ASSIGN_OR_RETURN(const frontends::ImportedModel model,
                           read_concrete_model(path_, model_, console));
    EGRET_RETURN_IF_ERROR(check_weights_stay(output_.output, external, path_, model));
    EGRET_ASSIGN_OR_RETURN(const driver::OptimizeResult result,
                           driver::optimize(model.graph, options_, console.progress()));
    if (!result.report.costs_warning.empty()) console.warning(result.report.costs_warning);
    if (keeps_earlier_file(console, output_.output)) return ExitCode::kLimit;
    frontends::ExportOptions exporting;
    exporting.manifest = result.report.manifest;
    exporting.manifest["egret.version"] = build_info().version;
    exporting.external_data_path = external;
    exporting.opset_for_composites = frontends::kComposedOpset;
    EGRET_ASSIGN_OR_RETURN(frontends::ExportedModel exported,
                           frontends::export_onnx(result.graph, model.info, exporting));
    if (!exported.raised_for.empty()) console.note("the opset rises for " + exported.raised_for);
    EGRET_RETURN_IF_ERROR(write_model(console, output_.output, exported));
    if (output_.output != "-") {
      const driver::OptimizeReport& r = result.report;
      console.result(to_json(r), operators_text(r) + "\n" + rules_text(r) + "\n" +
                                     (r.measured ? race_text(r) : "") + summary_text(r));
    }
    return result.report.limit_hit ? ExitCode::kLimit : ExitCode::kOk;
  }

 private:
  std::string path_;
  OutputOptions output_;
  ModelOptions model_;
  driver::OptimizeOptions options_;
};

}  // namespace

Verb optimize_verb() {
  return {
      "optimize", "Rewrite a model into an equal and faster one",
      "Puts the model into an e-graph, saturates it with rewrite rules, chooses the cheapest "
      "graph under "
      "measured costs, times it against the original, checks that it computes the same "
      "outputs, and writes it "
      "as ONNX. What is measured slower than the original, by more than the 2 % that two runs of "
      "one graph differ by, is not written: the original is.\n\n"
      "Operators that the choice depends on are measured once per machine and kept in the cost "
      "database. Where the time for that is over, predictions interpolate between what was "
      "measured, and say so (docs/costs.md).",
      make_command<Optimize>};
}

}  // namespace egret::tools
