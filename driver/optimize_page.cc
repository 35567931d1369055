// SPDX-License-Identifier: Apache-2.0
#include "driver/optimize_page.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/formats/units.h"
#include "driver/optimize_tables.h"
#include "driver/report/blocks.h"
#include "driver/report/charts.h"
#include "driver/report/graph_section.h"

namespace egret::driver {
namespace {

using base::element;
using base::Markup;
using base::TextTable;
using Report = OptimizeReport;
using Tone = ReportFigure::Tone;

std::string arrow(const std::string& before, const std::string& after) {
  return before + " \u2192 " + after;
}

std::string seconds_arrow(double before, double after) {
  return arrow(base::format_seconds(before), base::format_seconds(after));
}

std::string times(double ratio) { return base::format_short(ratio) + "\u00d7"; }

std::string verdict_of(const Report& r) {
  const std::string where = r.race.engine.empty() ? "" : " in " + r.race.engine;
  if (r.status == "improved")
    return "The result is " + base::format_short(r.race.after.gain.ratio) +
           " times as fast as the original" + where + ".";
  if (r.status == "rewritten") {
    if (!r.race.measured)
      return "The model was rewritten. Nothing was measured: all times are predictions.";
    return r.race.after.gain.high < 1
               ? "The model was rewritten. The result is slower than the original" + where + "."
               : "The model was rewritten. The result is as fast as the original" + where +
                     ", within noise.";
  }
  return r.race.measured
             ? "The original is the fastest graph that was found. It was written unchanged."
             : "The original was written unchanged.";
}

ReportFigure measured_figure(const Report& r) {
  const backends::Gain& gain = r.race.after.gain;
  ReportFigure figure{.label = "Speed, measured",
                      .value = times(gain.ratio),
                      .note = seconds_arrow(r.race.before.median_s, r.race.after.median_s) +
                              ", 95 % interval " + base::format_short(gain.low) + " to " +
                              base::format_short(gain.high)};
  if (r.race.chosen == "original") {
    figure.value = times(1);
    figure.note = base::format_seconds(r.race.before.median_s) + ", the original is kept";
  }
  if (r.status == "improved") {
    figure.tone = Tone::kGood;
  } else if (r.race.chosen != "original" && gain.high >= 1) {
    figure.note = "within noise; " + figure.note;
  }
  return figure;
}

std::vector<ReportFigure> figures_of(const Report& r) {
  std::vector<ReportFigure> figures;
  if (r.race.measured) figures.push_back(measured_figure(r));
  const auto& by_kernels = r.predicted.kernels_before;
  const auto& kernels_after = r.predicted.kernels_after;
  if (by_kernels.seconds > 0 && kernels_after.seconds > 0) {
    figures.push_back({.label = "Speed, predicted",
                       .value = times(by_kernels.seconds / kernels_after.seconds),
                       .note = seconds_arrow(by_kernels.seconds, kernels_after.seconds) +
                               " by the times of kernels"});
  } else if (r.predicted.after_s > 0) {
    figures.push_back({.label = "Speed, predicted",
                       .value = times(r.predicted.before_s / r.predicted.after_s),
                       .note = seconds_arrow(r.predicted.before_s, r.predicted.after_s) + " by " +
                               r.predicted.cost_model + " cost"});
  }
  const int before = operator_count(r.operators.before);
  const int after = operator_count(r.operators.after);
  figures.push_back({.label = "ONNX operators",
                     .value = arrow(std::to_string(before), std::to_string(after)),
                     .note = after < before ? std::to_string(before - after) + " fewer" : ""});
  if (r.race.arena_before > 0 && r.race.engine.empty()) {
    figures.push_back(
        {.label = "Memory of activations",
         .value = base::format_bytes(static_cast<double>(r.race.arena_after)),
         .note = "before: " + base::format_bytes(static_cast<double>(r.race.arena_before))});
  }
  if (r.check.made) {
    figures.push_back({.label = "Output check",
                       .value = !r.check.outputs.passed                  ? "failed"
                                : r.check.outputs.not_told_apart.empty() ? "passed"
                                                                         : "not told apart",
                       .note = "largest error " + base::format_short(r.check.outputs.max_error) +
                               ", bound " + base::format_short(r.check.outputs.bound),
                       .tone = r.check.outputs.passed && r.check.outputs.not_told_apart.empty()
                                   ? Tone::kGood
                                   : Tone::kBad});
  } else {
    figures.push_back({.label = "Output check",
                       .value = "not made",
                       .note = r.status == "unchanged" ? "the original was written" : "",
                       .tone = r.status == "unchanged" ? Tone::kPlain : Tone::kBad});
  }
  figures.push_back({.label = "Rules used",
                     .value = std::to_string(r.rules.used.size()),
                     .note = r.rules.not_proven.empty()
                                 ? "all proven"
                                 : base::counted(std::ssize(r.rules.not_proven), "rule") +
                                       " of the selection not proven",
                     .tone = r.rules.not_proven.empty() ? Tone::kPlain : Tone::kBad});
  return figures;
}

struct Kind {
  double before = 0;
  double after = 0;
  std::int64_t count_before = 0;
  std::int64_t count_after = 0;
};

// The largest first.
TextTable largest(const std::vector<KernelTime>& kernels) {
  TextTable table({{"kernel"},
                   {"time", base::Align::kRight},
                   {"share", base::Align::kRight},
                   {"implementation"},
                   {"nodes"}});
  double sum = 0;
  std::vector<const KernelTime*> order;
  for (const KernelTime& kernel : kernels) {
    sum += kernel.seconds;
    order.push_back(&kernel);
  }
  std::ranges::stable_sort(order, std::greater<>(), &KernelTime::seconds);
  for (const KernelTime* kernel : order) {
    constexpr std::size_t kMostNodes = 6;
    std::string nodes;
    for (std::size_t i = 0; i < std::min(kernel->nodes.size(), kMostNodes); ++i)
      nodes += (nodes.empty() ? "" : " ") + kernel->nodes[i];
    if (kernel->nodes.size() > kMostNodes)
      nodes += " and " + std::to_string(kernel->nodes.size() - kMostNodes) + " more";
    table.row({kernel->name, base::format_seconds(kernel->seconds),
               sum > 0 ? base::format_percent(kernel->seconds / sum) : "", kernel->implementation,
               nodes});
  }
  return table;
}

Markup kernels_content(const Report& r) {
  const bool measured = r.kernels.source == "measured";
  const auto& before = r.kernels.source.empty() ? r.predicted.operators_before : r.kernels.before;
  const auto& after = r.kernels.source.empty() ? r.predicted.operators_after : r.kernels.after;
  if (before.empty() && after.empty()) return {};
  std::map<std::string, Kind> kinds;
  for (const KernelTime& kernel : before) {
    kinds[kernel.name].before += kernel.seconds;
    ++kinds[kernel.name].count_before;
  }
  for (const KernelTime& kernel : after) {
    kinds[kernel.name].after += kernel.seconds;
    ++kinds[kernel.name].count_after;
  }
  std::vector<WaterfallStep> steps;
  for (const auto& [name, kind] : kinds) {
    steps.push_back(
        {.label = name,
         .before = kind.before,
         .after = kind.after,
         .note = arrow(std::to_string(kind.count_before), std::to_string(kind.count_after))});
  }
  Markup all = paragraph(
      measured
          ? "Measured: each kernel of both plans with a clock of its own. Their sum differs "
            "from the time of a race, which runs both graphs in turns and without clocks. A "
            "line is a kind of kernel, with the number of its kernels before and after."
          : "Predicted, not measured: the cost model's time of each operator. A line is a kind "
            "of operator, with the number of its operators before and after.");
  all.add(waterfall(std::move(steps)));
  all.add(folded(measured ? "Kernels of the result, the slowest first"
                          : "Operators of the result, the most costly first",
                 table_block(largest(after), 60)));
  all.add(folded(measured ? "Kernels of the original, the slowest first"
                          : "Operators of the original, the most costly first",
                 table_block(largest(before), 60)));
  return all;
}

std::string tone_of_status(const std::string& status) {
  return status == "proven" || status == "dynamic" ? "good" : "bad";
}

Markup rules_content(const Report& r) {
  Markup all;
  if (r.rules.used.empty()) {
    all.add(paragraph("No rule contributed to the result."));
  } else {
    all.add(
        paragraph("Rules that made nodes of the result. A dynamic rule holds by construction; a "
                  "proven one was proven for all sizes within its limit."));
  }
  for (const RuleCount& use : r.rules.used) {
    Markup row = element("h3", {}, use.name);
    Markup line(base::counted(static_cast<std::int64_t>(use.count), "node") + " ");
    line.add(badge(use.status, tone_of_status(use.status)));
    if (!use.limit.empty()) line.add(" ").add(badge(use.limit));
    if (!use.meaning.empty()) line.add(" " + use.meaning);
    row.add(paragraph(line));
    if (!use.proof.empty()) row.add(small_text("Proof: " + use.proof + "."));
    if (!use.text.empty()) row.add(folded("The rule", code_block(use.text)));
    all.add(element("div", {{"class", "rule-row"}}, row));
  }
  TextTable facts({{""}, {""}});
  facts.row({"rules available", base::format_count(static_cast<std::int64_t>(r.rules.available))});
  facts.row({"least status allowed", r.rules.allowed});
  facts.row({"hash of the rule set", r.rules.set_hash});
  all.add(table_block(facts));
  if (!r.rules.not_proven.empty()) {
    TextTable names({{"rules that ran without a proof"}});
    for (const std::string& name : r.rules.not_proven) names.row({name});
    all.add(long_table_block(names));
  }
  return all;
}

Markup race_content(const Report& r) {
  if (!r.race.measured) return {};
  std::vector<ChartBar> bars;
  const auto add = [&](const std::string& name, const backends::Timing& timing) {
    if (timing.runs == 0) return;
    const bool written = name == r.race.chosen;
    bars.push_back({.label = name + (written ? " (written)" : ""),
                    .value = base::format_seconds(timing.median_s) + ", " +
                             base::format_seconds(timing.p10_s) + " to " +
                             base::format_seconds(timing.p90_s),
                    .to = timing.median_s,
                    .tone = written ? "good" : "total",
                    .strong = written});
  };
  add("original", r.race.before);
  for (const auto& candidate : r.race.candidates) add(candidate.name, candidate.measured);
  Markup all = paragraph("The original and the candidates ran in turns on the same inputs" +
                         (r.race.engine.empty() ? std::string() : ", in " + r.race.engine) +
                         ". Bars are medians; the range is from the 10th to the 90th percentile.");
  all.add(bar_chart(bars));
  all.add(table_block(race_table(r)));
  return all;
}

Markup growth_content(const Report& r) {
  Markup all;
  const Report::Growth& g = r.growth;
  if (g.graphs_seen > 0) {
    all.add(paragraph("A search over whole graphs saw " +
                      base::counted(static_cast<std::int64_t>(g.graphs_seen), "graph") +
                      ". It has no e-graph. It stopped: " + g.stop_reason + "."));
    return all;
  }
  all.add(paragraph(base::counted(static_cast<std::int64_t>(g.e_nodes), "e-node") + " in " +
                    base::counted(static_cast<std::int64_t>(g.e_classes), "class", "classes") +
                    " after " +
                    base::counted(static_cast<std::int64_t>(g.iterations), "iteration") +
                    ". Saturation stopped: " + g.stop_reason + "."));
  std::vector<ChartSeries> sizes{{"e-nodes", "first", {}}, {"e-classes", "second", {}}};
  std::vector<ChartSeries> seconds{
      {"matching", "first", {}}, {"applying", "second", {}}, {"restoring congruence", "third", {}}};
  TextTable table({{"iteration", base::Align::kRight},
                   {"e-nodes", base::Align::kRight},
                   {"classes", base::Align::kRight},
                   {"new matches", base::Align::kRight},
                   {"applied", base::Align::kRight},
                   {"time", base::Align::kRight},
                   {"memory", base::Align::kRight}});
  const auto count = [](std::uint64_t n) {
    return base::format_count(static_cast<std::int64_t>(n));
  };
  for (std::size_t i = 0; i < g.steps.size(); ++i) {
    const Report::Growth::Step& step = g.steps[i];
    sizes[0].values.push_back(static_cast<double>(step.e_nodes));
    sizes[1].values.push_back(static_cast<double>(step.e_classes));
    seconds[0].values.push_back(step.search_s);
    seconds[1].values.push_back(step.apply_s);
    seconds[2].values.push_back(step.rebuild_s);
    table.row({std::to_string(i + 1), count(step.e_nodes), count(step.e_classes),
               count(step.matches), count(step.applied),
               base::format_seconds(step.search_s + step.apply_s + step.rebuild_s),
               base::format_bytes(static_cast<double>(step.bytes))});
  }
  const std::string last = "iteration " + std::to_string(g.steps.size());
  all.add(line_chart(sizes, {"iteration 1", last, [](double value) {
                               return base::format_count(static_cast<std::int64_t>(value));
                             }}));
  all.add(column_chart(
      seconds, {"iteration 1", last, [](double value) { return base::format_seconds(value); }}));
  all.add(folded("Each iteration", table_block(table)));
  return all;
}

Markup extraction_content(const Report& r) {
  TextTable facts({{""}, {""}});
  facts.row({"extractor", r.extraction.extractor});
  facts.row({"status", r.extraction.status});
  facts.row({"cost of the cheapest graph", base::format_seconds(r.extraction.cost_s)});
  facts.row({"lower bound", base::format_seconds(r.extraction.bound_s)});
  facts.row(
      {"operators measured in this run", base::format_count(r.extraction.operators_measured)});
  facts.row(
      {"operators chosen on an estimate", base::format_count(r.extraction.operators_estimated)});
  for (const std::string& note : r.extraction.notes) facts.row({"note", note});
  return table_block(facts);
}

Markup check_content(const Report& r) {
  if (!r.check.made) {
    return paragraph(r.status == "unchanged" ? "Not made: the original was written."
                                             : "Not made (--no-check).");
  }
  Markup all = paragraph(
      "The outputs of the result against those of the original, on the same inputs. The bound is "
      "the difference that rounding explains.");
  TextTable table({{"output"},
                   {"elements", base::Align::kRight},
                   {"largest error", base::Align::kRight},
                   {"bound", base::Align::kRight},
                   {"beyond it", base::Align::kRight}});
  for (const OutputError& one : r.check.outputs.outputs) {
    table.row({one.output, base::format_count(one.elements), base::format_short(one.max_error),
               base::format_short(one.bound), base::format_count(one.wrong)});
  }
  all.add(long_table_block(table));
  if (!r.check.outputs.vacuous.empty()) {
    all.add(paragraph("The output " + r.check.outputs.vacuous +
                      " says little: it has no finite element that is not 0."));
  }
  for (const std::string& name : r.check.outputs.not_told_apart) {
    all.add(paragraph("The check does not tell " + name +
                      " apart from other outputs: its bound is as large as the standard "
                      "deviation of its elements."));
  }
  std::string given;
  for (const std::string& name : r.check.given) given += (given.empty() ? "" : ", ") + name;
  if (!given.empty()) all.add(paragraph("Given inputs: " + given + ". All others are random."));
  return all;
}

Markup run_content(const Report& r) {
  std::vector<ChartBar> bars;
  for (const auto& [name, seconds] : r.seconds_by_phase)
    bars.push_back({.label = name, .value = base::format_seconds(seconds), .to = seconds});
  Markup all = paragraph("The run took " + base::format_seconds(r.seconds) + ".");
  all.add(bar_chart(bars));
  TextTable facts({{""}, {""}});
  facts.row({"machine", r.machine});
  if (!r.race.engine.empty()) facts.row({"engine", r.race.engine});
  for (const auto& [name, value] : r.manifest) facts.row({name, value});
  all.add(heading("Machine and settings"));
  all.add(table_block(facts));
  all.add(folded("The closing table, as the console prints it", table_block(r.closing_table())));
  return all;
}

}  // namespace

ReportPage optimize_page(const ir::Graph& program, const OptimizeResult& result,
                         const PageOrigin& origin) {
  const Report& r = result.report;
  ReportPage page{.title = origin.model,
                  .kind = "egret optimize",
                  .verdict = verdict_of(r),
                  .figures = figures_of(r),
                  .data = r.to_json(),
                  .version = origin.version};
  page.add("gain", "Gain by kernel", kernels_content(r));
  page.add("graph", "The graph before and after",
           graph_section(program, result.graph, result.made_by));
  page.add("rules", "Rules and their proofs", rules_content(r));
  page.add("race", "The race of candidates", race_content(r));
  page.add("operators", "Operators by kind", long_table_block(operators_table(r), 20));
  page.add("growth", "Growth of the e-graph", growth_content(r));
  page.add("extraction", "Extraction", extraction_content(r));
  page.add("check", "Output check", check_content(r));
  page.add("run", "The run", run_content(r));
  return page;
}

}  // namespace egret::driver
