// SPDX-License-Identifier: Apache-2.0
#include "driver/optimize.h"

#include <filesystem>

#include "base/formats/text_table.h"
#include "base/system/file.h"
#include "driver/certificate.h"
#include "driver/kernel_comparison.h"
#include "driver/models/open_model.h"
#include "driver/optimize_page.h"
#include "driver/optimize_tables.h"
#include "driver/written_model.h"
#include "tools/arguments/input_files.h"
#include "tools/arguments/model_file.h"
#include "tools/arguments/output_file.h"
#include "tools/arguments/report_option.h"
#include "tools/frame/allocator.h"
#include "tools/frame/build_info.h"
#include "tools/frame/verb.h"

namespace egret::tools {
namespace {

struct OutputOptions {
  std::string output;
  std::string external_data;
  std::string certificate;
  bool in_place = false;
  bool strict = false;

  static const base::OptionTable<OutputOptions>& table() {
    using O = OutputOptions;
    static const base::OptionTable<O> rows{
        "output",
        {{"output", &O::output, "File for the result; - is standard output", base::output_file(),
          'o'},
         {"in-place", &O::in_place, "Replace MODEL by the result"},
         {"external-data", &O::external_data,
          "File for the weights of a model above 2 GiB, in the output's folder (default: "
          "OUTPUT.data)",
          base::output_file()},
         {"certificate", &O::certificate,
          "File for a proof, step by step, that the result equals MODEL in real arithmetic; "
          "egret-check, or for plans egret-check-plan, replays it (docs/trust.md)",
          base::output_file()},
         {"strict", &O::strict,
          "Refuse a model with nodes that would stay as they are because Egret cannot express "
          "them"}}};
    return rows;
  }
};

std::string rules_text(const driver::OptimizeReport& r) {
  const base::TextTable table = driver::rules_table(r);
  return table.empty() ? "no rule contributed to the result\n" : table.render();
}

std::string text_of(const driver::OptimizeReport& r) {
  return driver::operators_table(r).render() + "\n" + rules_text(r) + "\n" +
         (r.race.measured ? driver::race_table(r).render() + "\n" : "") + r.summary();
}

class Optimize final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("MODEL", path_, "An ONNX file, or - for standard input");
    arguments.options(output_);
    arguments.options(report_);
    arguments.options(model_);
    arguments.options(sizes_);
    arguments.options(inputs_);
    arguments.options(options_);
  }

  base::Result<ExitCode> run(Console& console) override {
    keep_freed_memory();
    EGRET_RETURN_IF_ERROR(settle_output());
    options_.threads = console.options().threads;
    const std::string external =
        output_.external_data.empty() ? external_data_of(output_.output) : output_.external_data;
    std::vector<InputFile> inputs = rule_files(options_.rules);
    inputs.push_back(cost_database(options_.cost_db));
    for (const std::string& output : {output_.output, external})
      EGRET_RETURN_IF_ERROR(check_not_input(output, inputs));
    inputs.insert(
        inputs.end(),
        {{"the model", path_}, {"the result", output_.output}, {"the file of weights", external}});
    EGRET_RETURN_IF_ERROR(check_report(report_, inputs));
    EGRET_RETURN_IF_ERROR(check_not_input(output_.certificate, inputs));
    if (output_.certificate == "-") return base::usage_error("--certificate needs a file");
    options_.explain = !output_.certificate.empty();
    std::optional<rules::OpenSizes> open;
    EGRET_ASSIGN_OR_RETURN(const ModelSource source, source_of(path_));
    EGRET_ASSIGN_OR_RETURN(const driver::InputValues given, read_given(source));
    options_.given_inputs = given.values;
    EGRET_ASSIGN_OR_RETURN(
        const frontends::ImportedModel model,
        driver::read_open_model(source, model_, sizes_, given, open, options_.keeps_rounding()));
    report_notes(model, console);
    options_.written_like = std::make_shared<const frontends::OnnxModelInfo>(model.info);
    if (model_.bind.empty())
      options_.model_file = std::make_shared<const driver::ModelSource>(source);
    if (output_.strict) EGRET_RETURN_IF_ERROR(driver::check_defined(model.graph));
    EGRET_RETURN_IF_ERROR(check_weights_stay(output_.output, external, path_, model));
    for (const std::string& file : model.data_files)
      EGRET_RETURN_IF_ERROR(check_report(report_, {{"a file of weights of the model", file}}));
    EGRET_ASSIGN_OR_RETURN(
        driver::OptimizeResult result,
        driver::optimize(model.graph, options_, console.progress(), open ? &*open : nullptr));
    if (!result.report.predicted.warning.empty()) console.warning(result.report.predicted.warning);
    if (result.report.out_of_memory) {
      console.warning("not enough memory for the model's plan, so the result is " +
                      std::string(result.report.status == "unchanged"
                                      ? "the model as it is"
                                      : "neither measured nor checked"));
    }
    if (keeps_earlier_file(console, output_.output)) return ExitCode::kLimit;
    const driver::OracleQuestion question{.original = source,
                                          .read = model,
                                          .options = options_,
                                          .open = open ? &*open : nullptr,
                                          .progress = console.progress()};
    EGRET_ASSIGN_OR_RETURN(frontends::ExportedModel exported,
                           driver::checked_model(result, question, build_info().version, external));
    if (!exported.raised_for.empty())
      console.note("the opset is raised for " + exported.raised_for);
    std::string certificate;
    if (options_.explain) {
      EGRET_ASSIGN_OR_RETURN(
          certificate, driver::certificate_of(
                           result, {source, model.info, model_.bind, options_.keeps_rounding()},
                           exported, open ? &*open : nullptr));
    }
    EGRET_RETURN_IF_ERROR(write_model(console, output_.output, exported));
    if (options_.explain) EGRET_RETURN_IF_ERROR(base::write_file(output_.certificate, certificate));
    if (!report_.report.empty())
      result.report.kernels =
          driver::kernels_of(model.graph, result, options_, open ? &*open : nullptr);
    if (!model_.bind.empty() && !options_.quick) compare_with_open(source, result.report, console);
    const driver::OptimizeReport& r = result.report;
    const auto page = [&] {
      return driver::optimize_page(model.graph, result,
                                   {.model = std::filesystem::path(path_).filename().string(),
                                    .version = std::string(build_info().version)});
    };
    EGRET_RETURN_IF_ERROR(output_.output == "-"
                              ? write_report(console, report_, page)
                              : result_and_report(console, r.to_json(), text_of(r), report_, page));
    return result.report.out_of_memory ? ExitCode::kLimit
                                       : console.code_of_stop(result.report.growth.stop_reason);
  }

 private:
  // With an error budget, each further value of an input begins another sample.
  base::Result<driver::InputValues> read_given(const ModelSource& source) {
    if (options_.error_budget == 0) return driver::read_inputs(source, inputs_);
    EGRET_ASSIGN_OR_RETURN(std::vector<driver::InputValues> sets,
                           driver::read_input_sets(source, inputs_));
    for (const driver::InputValues& set : sets) options_.samples.push_back(set.values);
    return std::move(sets.front());
  }

  // The model is its own result only where that is asked for.
  base::Status settle_output() {
    if (output_.in_place) {
      if (!output_.output.empty())
        return base::usage_error("--in-place and --output exclude each other");
      if (path_ == "-") return base::usage_error("--in-place cannot replace standard input");
      output_.output = path_;
      return base::ok();
    }
    if (output_.output.empty())
      return base::usage_error("the output is missing: give it with -o FILE");
    const base::Status distinct = check_not_input(output_.output, {{"the model", path_}});
    return distinct.ok() ? base::ok()
                         : base::usage_error(distinct.message() + ", or use --in-place");
  }

  // What the result would be if --bind had fixed nothing, by the cost model at the same sizes. No
  // measurement is made for it. What fails here says nothing of the result.
  void compare_with_open(const ModelSource& source, driver::OptimizeReport& report,
                         Console& console) const {
    if (output_.in_place) return;  // the file is the result now
    const auto bound = frontends::parse_bindings(model_.bind);
    if (!bound.ok()) return;
    ModelOptions model = model_;
    model.bind.clear();
    driver::SizeOptions sizes;
    sizes.range = sizes_.range;
    for (const auto& [name, size] : *bound) {
      if (size < 1) return;  // no open size is so small
      sizes.at.push_back(name + "=" + std::to_string(size));
    }
    driver::OptimizeOptions options = options_;
    options.given_inputs.clear();
    options.no_measure = true;
    options.no_check = true;
    options.alternatives = 0;
    options.profile_time = 0;
    std::optional<rules::OpenSizes> open;
    const auto read =
        driver::read_open_model(source, model, sizes, {}, open, options_.keeps_rounding());
    if (!read.ok()) return;
    const auto result =
        driver::optimize(read->graph, options, console.progress(), open ? &*open : nullptr);
    if (!result.ok()) return;
    std::string text;
    for (const auto& [name, size] : *bound)
      text += (text.empty() ? "" : ", ") + name + "=" + std::to_string(size);
    report.binding = {.sizes = text,
                      .operators_bound = driver::operator_count(report.operators.after),
                      .operators_open = driver::operator_count(result->report.operators.after),
                      .predicted_bound_s = report.predicted.after_s,
                      .predicted_open_s = result->report.predicted.after_s};
  }

  std::string path_;
  OutputOptions output_;
  ReportOptions report_;
  ModelOptions model_;
  driver::SizeOptions sizes_;
  InputOptions inputs_;
  driver::OptimizeOptions options_;
};

}  // namespace

Verb optimize_verb() {
  return {
      "optimize", "Rewrite a model into an equivalent, faster one",
      "Builds an e-graph of the model, saturates it with rewrite rules, and extracts the cheapest "
      "graph under measured costs. Compares its outputs with the original's, measures both, and "
      "writes the result as ONNX. If the result is more than 2 % slower than the original (the "
      "noise between two runs of one graph), the original is written.\n\nOperators that influence "
      "the choice are measured once per machine and stored in the cost database. When "
      "--profile-time is used up, the remaining times are interpolated between measurements, and a "
      "warning says so (docs/costs.md).\n\nSymbolic sizes of the model's inputs stay open: rules "
      "apply where they hold for all "
      "sizes, and the result is checked at several. --at sets the sizes at which costs and the "
      "race "
      "are measured; --bind fixes a size, and the report says what that gained "
      "(docs/models.md).\n\n"
      "Inputs of --input take the place of random ones in the race and in the check, and their "
      "shapes set the sizes at which both are made.\n\n--extractor backtracking and "
      "backtracking-split search "
      "over whole graphs instead of extracting from an e-graph. --limit-time and --limit-memory "
      "then limit this search, and --forbid and --limit-arena cannot be used.\n\n--forbid NAME "
      "also excludes operators whose ONNX form contains NAME.\n"
      "\n"
      "--error-budget 1e-2 lets products and convolutions read operands in bf16 or "
      "int8, as long as the relative error of the outputs, measured on samples that "
      "are held out, stays within it (docs/precision_budget.md).",
      make_command<Optimize>};
}

}  // namespace egret::tools
