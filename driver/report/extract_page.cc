// SPDX-License-Identifier: Apache-2.0
#include "driver/report/extract_page.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "base/formats/units.h"
#include "driver/report/blocks.h"
#include "driver/report/charts.h"
#include "egraph/core/view_statistics.h"
#include "egraph/formats/dump.h"

namespace egret::driver {
namespace {

using base::element;
using base::Markup;
using base::TextTable;
using extract::ClassIndex;
using extract::NodeIndex;
using Tone = ReportFigure::Tone;

constexpr std::size_t kMostOperators = 12;
constexpr std::size_t kMostChoices = 200;
constexpr std::size_t kMostDrawn = 30;  // classes

std::string count(std::size_t n) { return base::format_count(static_cast<std::int64_t>(n)); }

class Page {
 public:
  Page(const egraph::SerializedEGraph& file, const extract::Solution& solution,
       const ExtractionOrigin& origin)
      : file_(file), solution_(solution), origin_(origin) {
    for (const NodeIndex node : solution.choice) {
      if (node != extract::kNoNode) chosen_.push_back(node);
    }
  }

  ReportPage make(base::Json document) const {
    const bool optimal = solution_.quality == extract::Quality::kOptimal;
    ReportPage page{.title = origin_.file,
                    .kind = "egret extract",
                    .verdict = optimal
                                   ? "The chosen terms are proven to be the cheapest."
                                   : "The chosen terms are the cheapest that were found; no proof "
                                     "shows that there are no cheaper ones.",
                    .figures = figures(),
                    .data = std::move(document),
                    .version = origin_.version};
    page.add("cost", "Cost by operator", cost_by_operator());
    page.add("choices", "The most costly choices", choices());
    page.add("egraph", "The chosen terms in the e-graph", picture());
    page.add("size", "The e-graph", statistics());
    page.add("run", "The run", run());
    return page;
  }

 private:
  std::vector<ReportFigure> figures() const {
    const bool optimal = solution_.quality == extract::Quality::kOptimal;
    std::vector<ReportFigure> figures{
        {.label = "Cost",
         .value = base::format_short(solution_.dag_cost),
         .note = "each node once",
         .tone = optimal ? Tone::kGood : Tone::kPlain},
        {.label = "Lower bound",
         .value = base::format_short(solution_.bound),
         .note = solution_.dag_cost > 0 && std::isfinite(solution_.bound)
                     ? "gap " + base::format_percent(
                                    std::max(0.0, 1 - solution_.bound / solution_.dag_cost))
                     : ""}};
    if (std::isfinite(solution_.tree_cost)) {
      figures.push_back({.label = "Cost as a tree",
                         .value = base::format_short(solution_.tree_cost),
                         .note = "shared nodes at each use"});
    }
    figures.push_back({.label = "Chosen nodes",
                       .value = count(chosen_.size()),
                       .note = "of " + count(file_.view.node_count()) + " in " +
                               count(file_.view.class_count()) + " classes"});
    figures.push_back(
        {.label = "Time", .value = base::format_seconds(origin_.seconds), .note = ""});
    return figures;
  }

  std::string operator_of(NodeIndex node) const { return file_.ops.text(file_.view.node_op[node]); }

  Markup cost_by_operator() const {
    std::map<std::string, std::pair<double, std::int64_t>> sums;
    for (const NodeIndex node : chosen_) {
      // Attributes come after the name.
      const std::string text = operator_of(node);
      auto& [cost, number] =
          sums[text.substr(0, std::max<std::size_t>(text.find_first_of("{("), 1))];
      cost += file_.costs[node];
      ++number;
    }
    std::vector<std::pair<std::string, std::pair<double, std::int64_t>>> order(sums.begin(),
                                                                               sums.end());
    std::ranges::stable_sort(order, std::greater<>(),
                             [](const auto& one) { return one.second.first; });
    std::vector<ChartBar> bars;
    ChartBar rest{.label = "all others", .tone = "total"};
    std::int64_t others = 0;
    for (const auto& [name, sum] : order) {
      if (bars.size() < kMostOperators) {
        bars.push_back(
            {.label = name,
             .value = base::format_short(sum.first) + ", " + base::counted(sum.second, "node"),
             .to = sum.first});
      } else {
        rest.to += sum.first;
        others += sum.second;
      }
    }
    if (others > 0) {
      rest.value = base::format_short(rest.to) + ", " + base::counted(others, "node");
      bars.push_back(rest);
    }
    Markup all = paragraph("The cost of the chosen nodes, by operator.");
    all.add(bar_chart(bars));
    return all;
  }

  Markup choices() const {
    std::vector<ClassIndex> order;
    for (ClassIndex c = 0; c < solution_.choice.size(); ++c) {
      if (solution_.choice[c] != extract::kNoNode) order.push_back(c);
    }
    std::ranges::stable_sort(order, std::greater<>(),
                             [&](ClassIndex c) { return file_.costs[solution_.choice[c]]; });
    TextTable table({{"class"},
                     {"chosen"},
                     {"its cost", base::Align::kRight},
                     {"other nodes", base::Align::kRight},
                     {"the cheapest of them"}});
    for (std::size_t i = 0; i < std::min(order.size(), kMostChoices); ++i) {
      const ClassIndex c = order[i];
      const NodeIndex chosen = solution_.choice[c];
      const NodeIndex begin = file_.view.class_begin[c];
      const NodeIndex end = file_.view.class_begin[c + 1];
      NodeIndex best = extract::kNoNode;
      for (NodeIndex node = begin; node < end; ++node) {
        if (node != chosen && (best == extract::kNoNode || file_.costs[node] < file_.costs[best]))
          best = node;
      }
      table.row({file_.class_names[c], operator_of(chosen), base::format_short(file_.costs[chosen]),
                 count(end - begin - 1),
                 best == extract::kNoNode
                     ? ""
                     : operator_of(best) + ", " + base::format_short(file_.costs[best])});
    }
    Markup all = paragraph(
        "A node's own cost is not all that decides: what it reads must be chosen too. So a class "
        "may "
        "have a node that costs less.");
    all.add(long_table_block(table));
    return all;
  }

  Markup picture() const {
    egraph::DumpOptions how;
    how.max_classes = kMostDrawn;
    how.class_names = file_.class_names;
    how.chosen = solution_.choice;
    const egraph::Dump dump = egraph::dump_svg(file_.view, file_.ops, how);
    Markup all = paragraph(
        "A dashed box is a class, a box in it a node. Chosen nodes are marked. The classes nearest "
        "to "
        "the roots are drawn.");
    all.add(element("div", {{"class", "scroll drawing"}, {"tabindex", "0"}},
                    Markup::verbatim(dump.text)));
    if (const std::string hidden = egraph::hidden_text(dump); !hidden.empty())
      all.add(small_text(hidden + "."));
    return all;
  }

  Markup statistics() const {
    const egraph::ViewStatistics s = egraph::statistics(file_.view, file_.ops);
    TextTable facts({{""}, {""}});
    facts.row({"nodes", count(s.nodes) + ", " + count(s.leaves) + " of them leaves"});
    facts.row({"classes", count(s.classes) + ", the largest with " + count(s.largest_class) +
                              " nodes, " + count(s.cyclic_classes) + " on cycles"});
    facts.row({"reachable from the roots",
               count(s.reachable_nodes) + " nodes in " + count(s.reachable_classes) + " classes"});
    facts.row({"roots", count(s.roots)});
    facts.row({"choices", "2^" + base::format_short(s.log2_choices)});
    return table_block(facts);
  }

  Markup run() const {
    TextTable facts({{""}, {""}});
    facts.row({"file", origin_.file});
    facts.row({"extractor", origin_.extractor});
    facts.row({"time", base::format_seconds(origin_.seconds)});
    for (const std::string& note : solution_.notes) facts.row({"note", note});
    return table_block(facts);
  }

  const egraph::SerializedEGraph& file_;
  const extract::Solution& solution_;
  const ExtractionOrigin& origin_;
  std::vector<NodeIndex> chosen_;
};

}  // namespace

ReportPage extract_page(const egraph::SerializedEGraph& file, const extract::Solution& solution,
                        const ExtractionOrigin& origin, base::Json document) {
  return Page(file, solution, origin).make(std::move(document));
}

}  // namespace egret::driver
