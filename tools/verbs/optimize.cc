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

std::string operators_text(const driver::OptimizeReport& r) {
  base::TextTable table(
      {{"operator"}, {"before", base::Align::kRight}, {"after", base::Align::kRight}});
  std::map<std::string, std::pair<int, int>> kinds;
  for (const auto& [name, count] : r.operators.before) kinds[name].first = count;
  for (const auto& [name, count] : r.operators.after) kinds[name].second = count;
  for (const auto& [name, counts] : kinds) {
    table.row({name, std::to_string(counts.first), std::to_string(counts.second)});
  }
  table.rule();
  table.row({"all", std::to_string(driver::operator_count(r.operators.before)),
             std::to_string(driver::operator_count(r.operators.after))});
  return table.render();
}

std::string rules_text(const driver::OptimizeReport& r) {
  if (r.rules.used.empty()) return "no rule made a node of the result\n";
  base::TextTable table({{"rule"}, {"nodes", base::Align::kRight}, {"status"}});
  for (const auto& use : r.rules.used) table.row({use.name, std::to_string(use.count), use.status});
  return table.render();
}

// Who ran against the original.
std::string race_text(const driver::OptimizeReport& r) {
  base::TextTable table({{"candidate"},
                         {"operators", base::Align::kRight},
                         {"predicted", base::Align::kRight},
                         {"measured", base::Align::kRight}});
  table.row({"original", std::to_string(driver::operator_count(r.operators.before)),
             base::format_seconds(r.predicted.before_s),
             base::format_seconds(r.race.before.median_s)});
  for (const auto& candidate : r.race.candidates) {
    table.row({candidate.name + (candidate.name == r.race.chosen ? " (written)" : ""),
               std::to_string(candidate.operators), base::format_seconds(candidate.predicted_s),
               base::format_seconds(candidate.measured.median_s)});
  }
  return table.render() + "\n";
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
    if (!result.report.predicted.warning.empty()) console.warning(result.report.predicted.warning);
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
      console.result(r.to_json(), operators_text(r) + "\n" + rules_text(r) + "\n" +
                                      (r.race.measured ? race_text(r) : "") + r.summary());
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
