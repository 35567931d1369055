// SPDX-License-Identifier: Apache-2.0
// Pages of results: complete, and harmless for any names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "driver/kernel_comparison.h"
#include "driver/optimize.h"
#include "driver/optimize_page.h"
#include "driver/report/blocks.h"
#include "driver/report/charts.h"
#include "driver/report/page.h"
#include "driver/report/plan_page.h"
#include "ir/graph/builder.h"
#include "parallel/machine/named_cluster.h"

namespace egret::driver {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
  return found;
}

// Elements are closed in the order in which they were opened. The page has no void element but
// <meta>.
void expect_well_formed(const std::string& page) {
  const std::size_t begin = page.find("<body>") + 6;
  const std::string body = page.substr(begin, page.find("</body>") - begin);
  const std::regex tag("<(/?)([a-zA-Z0-9]+)((?:\"[^\"]*\"|[^>\"])*)>");
  std::vector<std::string> open;
  for (std::sregex_iterator at(body.begin(), body.end(), tag), end; at != end; ++at) {
    const std::string name = (*at)[2];
    if (!open.empty() && open.back() == "script" && name != "script") continue;
    if ((*at)[1].length() == 0) {
      open.push_back(name);
    } else {
      ASSERT_FALSE(open.empty()) << name;
      ASSERT_EQ(open.back(), name);
      open.pop_back();
    }
  }
  EXPECT_TRUE(open.empty()) << open.back();
}

// The page names no address, except XML's name of SVG, which nothing loads.
void expect_no_network(const std::string& page) {
  std::string text = page;
  for (std::size_t at = 0; (at = text.find("http://www.w3.org/2000/svg")) != std::string::npos;)
    text.erase(at, 26);
  EXPECT_THAT(text, Not(HasSubstr("http:")));
  EXPECT_THAT(text, Not(HasSubstr("https:")));
  EXPECT_FALSE(std::regex_search(text, std::regex("<[^>]* (src|href)=\"[^#]")));
  EXPECT_THAT(text, Not(HasSubstr("@import")));
  EXPECT_THAT(text, HasSubstr("default-src 'none'"));
}

constexpr const char* kHostile = "</script><script>alert('x')</script>";

// relu(relu(x)), with hostile names.
ir::Graph hostile_graph() {
  ir::GraphBuilder b;
  const ir::Value x = b.input(std::string("in") + kHostile, {ir::DType::kF32, {4, 8}});
  b.output(std::string("out") + kHostile, b.add("tanh", {b.add("relu", {b.add("relu", {x})})}));
  ir::Graph graph = b.finish().value();
  for (std::size_t i = 1; i < graph.size(); ++i)
    graph.rename(ir::NodeId(i), "<img src=x onerror=alert(1)>" + std::to_string(i));
  return graph;
}

OptimizeOptions options() {
  OptimizeOptions options;
  options.cost = "nodes";
  options.cost_db = ":memory:";
  options.no_measure = true;
  return options;
}

std::string page_of(const ir::Graph& graph, const OptimizeResult& result) {
  return render(optimize_page(graph, result, {.model = kHostile, .version = "1.2.3"}));
}

TEST(ReportPage, NamesOfAModelAreHarmless) {
  const ir::Graph graph = hostile_graph();
  const auto result = optimize(graph, options());
  ASSERT_TRUE(result.ok());
  const std::string page = page_of(graph, *result);
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, HasSubstr("&lt;/script&gt;&lt;script&gt;alert"));
  EXPECT_EQ(count(page, "<script"), 2U) << "the data and page.js";
  EXPECT_EQ(count(page, "</script"), 2U);
  expect_well_formed(page);
  expect_no_network(page);
}

TEST(ReportPage, HasAllSectionsOfARewrittenModel) {
  const ir::Graph graph = hostile_graph();
  const auto result = optimize(graph, options());
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result->report.status, "rewritten");
  const std::string page = page_of(graph, *result);
  for (const char* id :
       {"gain", "graph", "rules", "operators", "growth", "extraction", "check", "run"})
    EXPECT_THAT(page, HasSubstr("<section id=\"" + std::string(id) + "\">"));
  EXPECT_THAT(page, Not(HasSubstr("<section id=\"race\">"))) << "nothing was measured";
  EXPECT_THAT(page, HasSubstr("Nothing was measured: all times are predictions."));
  EXPECT_THAT(page, HasSubstr("Predicted, not measured"));
  EXPECT_THAT(page, HasSubstr("3 \u2192 2"));
  EXPECT_THAT(page, HasSubstr("Egret 1.2.3"));
  EXPECT_THAT(page, Not(HasSubstr("{{")));
  for (const RuleCount& rule : result->report.rules.used) {
    EXPECT_THAT(page, HasSubstr("<h3>" + rule.name + "</h3>"));
    EXPECT_FALSE(rule.text.empty()) << rule.name;
    EXPECT_FALSE(rule.proof.empty()) << rule.name;
  }
  EXPECT_FALSE(result->report.rules.used.empty());
}

TEST(ReportPage, MarksTheNodesThatRulesMade) {
  ir::GraphBuilder b;
  const ir::Value x = b.input("x", {ir::DType::kF32, {8, 8}});
  const ir::Value y = b.input("y", {ir::DType::kF32, {8, 8}});
  const ir::Value z = b.input("z", {ir::DType::kF32, {8, 8}});
  // x*y + x*z has fewer products as x*(y+z).
  b.output("r", b.add("add", {b.add("matmul", {x, y}), b.add("matmul", {x, z})}));
  const ir::Graph graph = b.finish().value();
  const auto result = optimize(graph, options());
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(operator_count(result->report.operators.after), 2);
  ASSERT_FALSE(result->made_by.empty());
  for (const auto& [node, rule] : result->made_by) {
    EXPECT_LT(node.index(), result->graph.size());
    EXPECT_TRUE(std::ranges::any_of(result->report.rules.used, [&](const RuleCount& use) {
      return use.name == rule;
    })) << rule;
  }
  const std::string page = page_of(graph, *result);
  EXPECT_THAT(page, HasSubstr("class=\"node made\""));
  EXPECT_THAT(page, HasSubstr("\u2190 " + result->made_by.begin()->second.substr(0, 20)));
}

TEST(ReportPage, MeasuredKernelsAreNamedAsMeasured) {
  const ir::Graph graph = hostile_graph();
  OptimizeOptions how = options();
  how.no_measure = false;
  how.measure_time = 0.01;
  auto result = optimize(graph, how);
  ASSERT_TRUE(result.ok());
  ASSERT_TRUE(result->report.race.measured);
  result->report.kernels = kernels_of(graph, *result, how);
  EXPECT_EQ(result->report.kernels.source, "measured");
  double seconds = 0;
  for (const KernelTime& kernel : result->report.kernels.before) seconds += kernel.seconds;
  EXPECT_GT(seconds, 0);
  EXPECT_NE(result->report.to_json().find("kernels_after"), nullptr);
  const std::string page = page_of(graph, *result);
  EXPECT_THAT(page, HasSubstr("Measured: each kernel of both plans"));
  EXPECT_THAT(page, HasSubstr("<section id=\"race\">"));
}

// Without a race no plan runs again: the costs stand for kernels.
TEST(ReportPage, UnmeasuredKernelsAreCosts) {
  const ir::Graph graph = hostile_graph();
  const auto result = optimize(graph, options());
  ASSERT_TRUE(result.ok());
  const OptimizeReport::Kernels kernels = kernels_of(graph, *result, options());
  EXPECT_EQ(kernels.source, "predicted");
  double sum = 0;
  for (const KernelTime& one : kernels.before) sum += one.seconds;
  EXPECT_DOUBLE_EQ(sum, result->report.predicted.before_s);
  ASSERT_EQ(kernels.before.size(), 3U);
  EXPECT_EQ(kernels.after.size(), 2U);
}

TEST(ReportPage, GrowthHasAStepForEachIteration) {
  const ir::Graph graph = hostile_graph();
  const auto result = optimize(graph, options());
  ASSERT_TRUE(result.ok());
  const OptimizeReport::Growth& growth = result->report.growth;
  ASSERT_EQ(growth.steps.size(), growth.iterations);
  EXPECT_EQ(growth.steps.back().e_nodes, growth.e_nodes);
  EXPECT_EQ(growth.steps.back().e_classes, growth.e_classes);
}

TEST(ReportPage, OfAPlanHasItsPlacementsAndMemory) {
  ir::GraphBuilder b;
  base::Random random(1);
  ir::Value x = b.input("x", {ir::DType::kF32, {4, 64}});
  for (int layer = 0; layer < 3; ++layer) {
    const ir::Value w = b.constant(ir::Tensor::random({ir::DType::kF32, {64, 64}}, random),
                                   "layer." + std::to_string(layer) + ".<w>");
    x = b.add("relu", {b.add("matmul", {x, w})});
  }
  b.output("y", x);
  const ir::Graph graph = b.finish().value();
  const auto machine = parallel::cluster_called("local", "x=2");
  ASSERT_TRUE(machine.ok());
  const auto plan = parallel::make_plan({graph}, *machine, {});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const parallel::PlanOrigin origin{.model = kHostile, .bind = {}, .machine = machine->name};
  const std::string page = render(plan_page(*plan, origin, *machine, "1.2.3"));
  for (const char* id : {"times", "placements", "collectives", "memory", "run"})
    EXPECT_THAT(page, HasSubstr("<section id=\"" + std::string(id) + "\">"));
  EXPECT_THAT(page, HasSubstr("&lt;w&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("<w>")));
  expect_well_formed(page);
  expect_no_network(page);
  const parallel::HeldBytes held = parallel::held_bytes(plan->program);
  EXPECT_DOUBLE_EQ(held.fixed + *std::ranges::max_element(held.live),
                   parallel::peak_bytes(plan->program));
}

TEST(ReportCharts, AWaterfallEndsAtTheSumAfter) {
  const std::string text = waterfall({{.label = "conv", .before = 3e-3, .after = 1e-3},
                                      {.label = "<relu>", .before = 1e-3, .after = 2e-3}})
                               .str();
  EXPECT_EQ(count(text, "<li"), 4U);
  EXPECT_THAT(text, HasSubstr("4.00 ms"));
  EXPECT_THAT(text, HasSubstr("3.00 ms"));
  EXPECT_THAT(text, HasSubstr("\u22122.00 ms"));
  EXPECT_THAT(text, HasSubstr("+1.00 ms"));
  EXPECT_THAT(text, HasSubstr("&lt;relu&gt;"));
  // before [0, 4], conv falls from 4 to 2, relu rises from 2 to 3, after [0, 3]
  EXPECT_THAT(text, HasSubstr("class=\"fill-good\" x=\"500\" y=\"12\" width=\"500\""));
  EXPECT_THAT(text, HasSubstr("class=\"fill-bad\" x=\"500\" y=\"12\" width=\"250\""));
  EXPECT_THAT(text, HasSubstr("class=\"fill-total\" x=\"0\" y=\"12\" width=\"750\""));
}

TEST(ReportCharts, ManyKindsAreSummedUp) {
  std::vector<WaterfallStep> steps;
  for (int i = 0; i < 30; ++i)
    steps.push_back({.label = "k" + std::to_string(i), .before = 1.0 + i, .after = 0});
  const std::string text = waterfall(steps, 5).str();
  EXPECT_EQ(count(text, "<li"), 7U);
  EXPECT_THAT(text, HasSubstr("all others"));
  EXPECT_THAT(text, HasSubstr("26 kinds"));
}

TEST(ReportBlocks, LongTablesAreBounded) {
  base::TextTable table({{"name"}, {"number", base::Align::kRight}});
  for (int i = 0; i < 2000; ++i) table.row({"<n>", std::to_string(i)});
  const std::string text = long_table_block(table, 10).str();
  EXPECT_EQ(count(text, "<tr"), kMostRows + 2);
  EXPECT_THAT(text, HasSubstr("The other 1,990 rows"));
  EXPECT_THAT(text, HasSubstr("1,500 further rows not shown."));
  EXPECT_THAT(text, Not(HasSubstr("<n>")));
}

}  // namespace
}  // namespace egret::driver
