// SPDX-License-Identifier: Apache-2.0
#include "driver/report/plan_page.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include "base/formats/units.h"
#include "driver/report/blocks.h"
#include "driver/report/charts.h"
#include "driver/report/plan_tables.h"

namespace egret::driver {
namespace {

using base::element;
using base::Markup;
using base::TextTable;
using parallel::ParallelPlan;
using parallel::PlacedNode;
using Tone = ReportFigure::Tone;

std::string times(double ratio) { return base::format_short(ratio) + "\u00d7"; }

std::vector<ReportFigure> figures_of(const ParallelPlan& plan, const parallel::Cluster& machine) {
  std::vector<ReportFigure> figures;
  const auto single = plan.baselines.find("single");
  if (single != plan.baselines.end() && plan.time_s > 0) {
    const double ratio = single->second / plan.time_s;
    figures.push_back({.label = "Speed over one device, predicted",
                       .value = times(ratio),
                       .note = base::format_seconds(single->second) + " \u2192 " +
                               base::format_seconds(plan.time_s),
                       .tone = ratio > 1 ? Tone::kGood : Tone::kPlain});
  } else {
    figures.push_back(
        {.label = "Time, predicted", .value = base::format_seconds(plan.time_s), .note = ""});
  }
  const bool exceeds = plan.limit_bytes > 0 && plan.memory_bytes > plan.limit_bytes;
  figures.push_back({.label = "Memory of a device",
                     .value = base::format_bytes(plan.memory_bytes),
                     .note = plan.limit_bytes > 0 ? (exceeds ? "above the limit of " : "limit ") +
                                                        base::format_bytes(plan.limit_bytes)
                                                  : "",
                     .tone = exceeds ? Tone::kBad : Tone::kPlain});
  double sent = 0;
  double seconds = 0;
  std::int64_t count = 0;
  for (const parallel::Communication& one : plan.communication) {
    sent += one.bytes;
    seconds += one.time_s;
    count += one.count;
  }
  figures.push_back(
      {.label = "Sent by a rank",
       .value = base::format_bytes(sent),
       .note = base::counted(count, "collective") + ", " + base::format_seconds(seconds)});
  figures.push_back(
      {.label = "Mesh", .value = to_string(plan.program.mesh), .note = "of " + machine.name});
  if (plan.bound_s > 0 && plan.time_s > 0) {
    figures.push_back(
        {.label = "Distance to the bound",
         .value = base::format_percent(std::max(0.0, 1 - plan.bound_s / plan.time_s)),
         .note = "no plan of this search takes less than " + base::format_seconds(plan.bound_s)});
  }
  return figures;
}

Markup times_content(const ParallelPlan& plan) {
  std::vector<std::pair<double, std::string>> baselines;
  for (const auto& [name, seconds] : plan.baselines) baselines.emplace_back(seconds, name);
  std::ranges::sort(baselines);
  const auto fits = [&](const std::string& name) {
    const auto facts = plan.baseline_facts.find(name);
    return plan.limit_bytes <= 0 || facts == plan.baseline_facts.end() ||
           facts->second.memory_bytes <= plan.limit_bytes;
  };
  std::vector<ChartBar> bars{{.label = "this plan",
                              .value = base::format_seconds(plan.time_s),
                              .to = plan.time_s,
                              .tone = "good",
                              .strong = true}};
  for (const auto& [seconds, name] : baselines) {
    bars.push_back({.label = name,
                    .value = base::format_seconds(seconds) +
                             (plan.time_s > 0 ? ", " + times(seconds / plan.time_s) : "") +
                             (fits(name) ? "" : ", does not fit"),
                    .to = seconds,
                    .tone = "total"});
  }
  Markup all = paragraph(
      "Predicted times of one run: of this plan, and of plans of known kinds for the same "
      "program.");
  all.add(bar_chart(bars));
  return all;
}

// Numbers in names of values count layers: "layer.3.weight" is the 3 of "layer.*.weight".
struct Pattern {
  std::string text;
  std::string numbers;  // the first one
};
Pattern pattern_of(const std::string& name) {
  Pattern pattern;
  for (std::size_t i = 0; i < name.size();) {
    const auto is_digit = [&](std::size_t at) {
      return at < name.size() && name[at] >= '0' && name[at] <= '9';
    };
    if (!is_digit(i)) {
      pattern.text += name[i++];
      continue;
    }
    std::string digits;
    while (is_digit(i)) digits += name[i++];
    // Digits that end a word are a part of it: "w1", "fc2".
    if (pattern.text.empty() ||
        std::isalpha(static_cast<unsigned char>(pattern.text.back())) == 0) {
      if (pattern.numbers.empty()) pattern.numbers = digits;
      pattern.text += "*";
    } else {
      pattern.text += digits;
    }
  }
  return pattern;
}

TextTable placements_by_layer(const ParallelPlan& plan) {
  struct Row {
    std::string name;
    std::string pattern;
    std::string type;
    std::string kind;
    std::string placement;
    std::vector<std::string> numbers{};
    std::int64_t count = 0;
  };
  std::vector<Row> rows;
  std::map<std::string, std::size_t> known;
  for (const PlacedNode& node : plan.program.nodes) {
    if (node.name.empty()) continue;
    const Pattern pattern = pattern_of(node.name);
    const std::string type = ir::to_string(node.whole);
    const std::string placement = to_string(node.placement, plan.program.mesh);
    const bool weight = node.kind == PlacedNode::Kind::kConstant;
    const bool input = node.kind == PlacedNode::Kind::kInput;
    const std::string key = pattern.text + "\n" + type + "\n" + placement;
    const auto [found, is_new] = known.try_emplace(key, rows.size());
    if (is_new) {
      rows.push_back({.name = node.name,
                      .pattern = pattern.text,
                      .type = type,
                      .kind = weight  ? "weight"
                              : input ? "input"
                                      : "value",
                      .placement = placement});
    }
    Row& row = rows[found->second];
    ++row.count;
    if (!pattern.numbers.empty()) row.numbers.push_back(pattern.numbers);
  }
  TextTable table({{"value"}, {"kind"}, {"type"}, {"placement"}, {"layers"}});
  for (const Row& row : rows) {
    std::string layers;
    if (row.count > 1 && !row.numbers.empty())
      layers =
          base::format_count(row.count) + ": " + row.numbers.front() + " to " + row.numbers.back();
    table.row({row.count > 1 ? row.pattern : row.name, row.kind, row.type, row.placement, layers});
  }
  return table;
}

Markup placements_content(const ParallelPlan& plan) {
  Markup all = paragraph(
      "R: every device along the axis holds the whole. S(d): dimension d is cut into blocks. "
      "P(sum), P(max): the value is the sum or maximum of what the devices hold. Values whose "
      "names "
      "differ only in a number are one line.");
  if (plan.layers > 0) {
    all.add(paragraph("The program has " + base::counted(plan.layers, "equal layer") +
                      ", which have one plan."));
  }
  all.add(long_table_block(placements_by_layer(plan), 30));
  return all;
}

Markup communication_content(const ParallelPlan& plan) {
  if (plan.communication.empty()) return paragraph("The plan sends nothing.");
  std::vector<ChartBar> bars;
  for (const parallel::Communication& one : plan.communication) {
    bars.push_back({.label = one.collective + " along " + one.axis,
                    .value = base::format_seconds(one.time_s) + ", " +
                             base::format_bytes(one.bytes) + ", " +
                             base::counted(one.count, "time"),
                    .to = one.time_s,
                    .tone = "second"});
  }
  Markup all = paragraph("The time of collectives in one run, by kind and axis.");
  all.add(bar_chart(bars));
  all.add(table_block(communication_table(plan)));
  return all;
}

// Not more points than a screen has columns: the largest of several neighbours stands for them.
std::vector<double> thinned(const std::vector<double>& values, std::size_t most) {
  if (values.size() <= most) return values;
  std::vector<double> result(most, 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    double& at = result[i * most / values.size()];
    at = std::max(at, values[i]);
  }
  return result;
}

Markup memory_content(const ParallelPlan& plan) {
  constexpr std::size_t kMostPoints = 600;
  const parallel::HeldBytes held = parallel::held_bytes(plan.program);
  std::vector<double> all_bytes;
  for (const double live : held.live) all_bytes.push_back(held.fixed + live);
  if (all_bytes.empty()) return {};
  const std::vector<double> points = thinned(all_bytes, kMostPoints);
  std::vector<ChartSeries> series{
      {"held by a rank", "first", points},
      {"of it, weights and inputs", "second", std::vector<double>(points.size(), held.fixed)}};
  if (plan.limit_bytes > 0)
    series.push_back({"limit", "bad", std::vector<double>(points.size(), plan.limit_bytes)});
  std::vector<std::string> tones;
  for (const PlacedNode& node : plan.program.nodes) {
    switch (node.kind) {
      case PlacedNode::Kind::kInput:
      case PlacedNode::Kind::kConstant: break;
      case PlacedNode::Kind::kOperator: tones.emplace_back("kept"); break;
      case PlacedNode::Kind::kCollective: tones.emplace_back("second"); break;
      case PlacedNode::Kind::kBack:
      case PlacedNode::Kind::kRing: tones.emplace_back("third"); break;
    }
  }
  Markup all =
      paragraph("What one rank holds, from the first operator of the program to the last.");
  all.add(line_chart(series, {"first operator", "last operator",
                              [](double value) { return base::format_bytes(value); }}));
  Markup legend = element("span", {{"class", "key key-kept"}}, "operators");
  legend.add(element("span", {{"class", "key key-second"}}, "collectives"));
  legend.add(element("span", {{"class", "key key-third"}}, "rings"));
  all.add(element("p", {{"class", "legend"}}, legend));
  all.add(strip(tones, "kept"));
  return all;
}

Markup run_content(const ParallelPlan& plan, const parallel::PlanOrigin& origin,
                   const parallel::Cluster& machine) {
  TextTable facts({{""}, {""}});
  facts.row({"model", origin.model});
  facts.row({"hash of the model", origin.model_hash});
  std::string bound;
  for (const std::string& one : origin.bind) bound += (bound.empty() ? "" : ", ") + one;
  if (!bound.empty()) facts.row({"sizes", bound});
  facts.row({"machine", machine.name + ", mesh " + to_string(plan.program.mesh)});
  facts.row(
      {"a device",
       base::format_short(machine.rates.flops_per_second / 1e12) + " TFLOP/s, " +
           base::format_short(machine.rates.bytes_per_second / 1e9) + " GB/s" +
           (machine.memory_bytes > 0 ? ", " + base::format_bytes(machine.memory_bytes) : "")});
  facts.row({"values in the placed e-graph",
             base::format_count(static_cast<std::int64_t>(plan.placed_values))});
  facts.row({"their nodes", base::format_count(static_cast<std::int64_t>(plan.placed_nodes))});
  if (plan.recomputation) facts.row({"memory", recomputation_text(*plan.recomputation)});
  facts.row({"planning", base::format_seconds(plan.seconds)});
  facts.row({"check against the model", std::string(name_of(plan.check)) +
                                            (plan.check == parallel::PlanCheck::kSkipped
                                                 ? ""
                                                 : ", " + base::format_seconds(plan.checking))});
  return table_block(facts);
}

}  // namespace

ReportPage plan_page(const ParallelPlan& plan, const parallel::PlanOrigin& origin,
                     const parallel::Cluster& machine, const std::string& version) {
  ReportPage page{.title = std::filesystem::path(origin.model).filename().string(),
                  .kind = "egret plan",
                  .verdict = std::string(origin.training ? "One training step" : "One run") +
                             " takes " + base::format_seconds(plan.time_s) + " on " +
                             to_string(plan.program.mesh) + " of " + machine.name + " (predicted).",
                  .figures = figures_of(plan, machine),
                  .data = to_json(plan, origin),
                  .version = version};
  page.add("times", "Beside other plans", times_content(plan));
  page.add("placements", "Placements by layer", placements_content(plan));
  page.add("collectives", "Collectives", communication_content(plan));
  page.add("memory", "Memory over the program", memory_content(plan));
  page.add("searches", "Other searches at the same costs", table_block(plan_searches_table(plan)));
  page.add("reasons", "The next best placements", table_block(runners_up_table(plan)));
  page.add("run", "The plan and its machine", run_content(plan, origin, machine));
  return page;
}

}  // namespace egret::driver
