// SPDX-License-Identifier: Apache-2.0
// Layouts that are chosen with kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "backends/division.h"
#include "cost/database.h"
#include "cost/model.h"
#include "driver/optimize.h"
#include "driver/select/kernel_choice.h"
#include "driver/select/layout_search.h"
#include "driver/select/node_prices.h"
#include "extract/core/extractor.h"
#include "ir/graph/builder.h"
#include "rules/tensors/saturated_graph.h"
#include "zoo/zoo.h"

namespace egret::driver {
namespace {

using ir::DType;
using ir::Value;

ir::Attrs window(std::int64_t size, std::int64_t stride, std::int64_t pad) {
  ir::Attrs attrs{{"strides", ir::Integers{stride, stride}},
                  {"dilations", ir::Integers{1, 1}},
                  {"pads", ir::Integers{pad, pad, pad, pad}}};
  if (size > 0) attrs.set("kernel", ir::Integers{size, size});
  return attrs;
}

// Convolutions of which some have few channels, a pooling, two branches and a mean.
ir::Graph small_network() {
  ir::GraphBuilder b;
  base::Random random(7);
  const auto weights = [&](ir::Shape shape) {
    return b.constant(ir::Tensor::random({DType::kF32, shape}, random));
  };
  const auto layer = [&](Value x, std::int64_t from, std::int64_t to, std::int64_t size) {
    const Value y = b.add("conv", {x, weights({to, from, size, size})}, window(0, 1, size / 2));
    return b.add("relu", {b.add("add", {y, weights({to, 1, 1})})});
  };
  Value x = layer(b.input("x", {DType::kF32, {1, 3, 32, 32}}), 3, 24, 3);
  x = b.add("max_pool", {x}, window(2, 2, 0));
  const Value left = layer(x, 24, 32, 1), right = layer(x, 24, 12, 3);
  x = b.add("concat", {left, right}, {{"axis", std::int64_t{1}}});
  x = layer(x, 44, 32, 3);
  const Value mean = b.add("reduce_mean", {x}, {{"axes", ir::Integers{2, 3}}});
  b.output("y", b.add("reshape", {mean}, {{"shape", ir::Integers{1, 32}}}));
  b.output("z", x);
  return *b.finish();
}

struct Program {
  explicit Program(const ir::Graph& graph, int iterations) {
    rules::SaturateOptions options;
    options.limits.nodes = 400;
    options.limits.iterations = iterations;
    saturated = *rules::saturate(graph, *rules::AdmittedRules::select("default"), options, 1);
    const rules::TensorEGraph& tensors = *saturated.tensors;
    view = egraph::make_view(tensors.egraph(), tensors.roots());
    given.graph = *tensors.to_graph(tensors.original(), tensors.roots(), &given.origins);
    given.is_start = true;
  }
  rules::SaturatedGraph saturated;
  egraph::EGraphView view;
  GivenProgram given;
};

KernelChoiceOptions options_of(cost::Database& database) {
  KernelChoiceOptions options{.extractor = extract::find_extractor("auto"),
                              .extraction = {.time_limit_s = 2, .should_stop = {}},
                              .backend = backends::find_backend("cpu"),
                              .plan = {.threads = 1}};
  options.kept = {.database = &database, .machine = "here", .seconds = 0.01};
  options.seconds = 20;
  return options;
}

// Takes the last program that was laid out, however long it takes, so that tests see layouts.
class LastLayouts final : public LayoutSearch {
 public:
  using LayoutSearch::LayoutSearch;

 protected:
  bool is_better(const KernelChoice& choice) const override {
    return !choice.program.layouts.empty();
  }
};

// The choice in layouts that K makes for the program, and its plan.
struct LaidOut {
  KernelChoice choice;
  backends::PlanReport report;
};

LaidOut laid_out(const ir::Graph& graph, int iterations, bool keep_division) {
  const Program program(graph, iterations);
  const auto database = cost::Database::open(":memory:");
  const auto model = cost::make_model("roofline", {});
  KernelChoiceOptions options = options_of(**database);
  options.keep_division = keep_division;
  const rules::TensorEGraph& tensors = *program.saturated.tensors;
  SearchedEGraph searched{
      .tensors = tensors,
      .view = program.view,
      .leaves = leaves_of(tensors, program.view),
      .costs = *price_nodes(tensors, program.view, *model),
      .times = PieceTimes(tensors, program.view, *options.backend, options.plan, options.kept)};
  KernelSearch plain(searched, options, 10, {}, nullptr);
  const auto start = plain.run({&program.given, 1});
  EXPECT_TRUE(start.ok()) << start.status().message();
  LastLayouts search(searched, options, 20, {}, nullptr);
  auto choice = search.run_from(plain.answer());
  EXPECT_TRUE(choice.ok()) << choice.status().message();
  LaidOut result{*std::move(choice), {}};
  backends::CompileOptions plan = options.plan;
  plan.division = result.choice.program.division;
  plan.layouts = result.choice.program.layouts;
  const auto compiled = options.backend->compile(result.choice.program.graph, plan);
  EXPECT_TRUE(compiled.ok()) << compiled.status().message();
  result.report = (*compiled)->report();
  return result;
}

// K chose them, so the plan has them: as many reorders, each a part of its own, and kernels that
// read and store what they were chosen for.
void expect_plan_of_choice(const LaidOut& laid_out, const std::string& name) {
  const backends::DivisionLayouts& layouts = laid_out.choice.program.layouts;
  ASSERT_FALSE(layouts.empty()) << name;
  const auto kernels = std::ssize(laid_out.choice.program.division);
  std::set<int> copies;
  std::ptrdiff_t reorders = 0;
  for (const backends::PlanReport::Kernel& kernel : laid_out.report.kernels) {
    if (kernel.name != "reorder") continue;
    ++reorders;
    if (kernel.part >= kernels) copies.insert(kernel.part);
    EXPECT_GE(kernel.part, 0) << name << ": a copy that nobody chose";
  }
  EXPECT_EQ(std::ssize(copies), std::ssize(layouts.reorders)) << name;
  EXPECT_EQ(reorders, std::ssize(layouts.reorders)) << name;
  for (std::size_t k = 0; k < layouts.kernels.size(); ++k)
    EXPECT_EQ(laid_out.report.layouts[k], layouts.kernels[k]) << name << ", kernel " << k;
}

TEST(LayoutChoice, ThePlanHasTheReordersThatWereChosen) {
  for (const bool keep_division : {true, false}) {
    for (const int iterations : {0, 3})
      expect_plan_of_choice(laid_out(small_network(), iterations, keep_division), "small network");
  }
  const auto squeezenet = zoo::find_model("squeezenet1.1")->build({});
  ASSERT_TRUE(squeezenet.ok());
  expect_plan_of_choice(laid_out(*squeezenet, 0, true), "squeezenet1.1");
}

// A concatenation reads blocked channels of one branch, and of the other, with twelve, channels
// last, as it stores them. A plan can be asked for what is reported.
TEST(LayoutChoice, ReportsFormsThatCanBeAskedFor) {
  const ir::Graph graph = small_network();
  backends::CompileOptions options{.threads = 1};
  std::size_t concat = 0;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const ir::Node& node = graph.node(ir::NodeId(i));
    if (node.kind != ir::NodeKind::kOperator) continue;
    if (node.op->name() == "concat") concat = options.division.size();
    options.division.push_back({ir::NodeId(i)});
  }
  const auto plan = backends::find_backend("cpu")->compile(graph, options);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const backends::KernelLayouts layouts = (*plan)->report().layouts[concat];
  EXPECT_EQ(layouts.writes, backends::LayoutForm::kChannelsLast);
  EXPECT_EQ(layouts.reads, layouts.writes);
}

TEST(LayoutChoice, IsNeverSlowerThanTheBackends) {
  const Program program(small_network(), 3);
  const auto model = cost::make_model("roofline", {});
  const auto database = cost::Database::open(":memory:");
  KernelChoiceOptions options = options_of(**database);
  const auto seconds = [&](bool lays_out, bool keep_division) {
    options.lays_out = lays_out;
    options.keep_division = keep_division;
    const auto chosen = choose_kernels(*program.saturated.tensors, program.view, *model,
                                       {&program.given, 1}, options, nullptr);
    EXPECT_TRUE(chosen.ok()) << chosen.status().message();
    return chosen->times.seconds;
  };
  for (const bool keep_division : {true, false}) {
    const double own = seconds(false, keep_division);
    EXPECT_LE(seconds(true, keep_division), own * (1 + 1e-6));
  }
}

TEST(LayoutChoice, GivesACheckedProgram) {
  for (const char* from : {"backend", "graph", "egraph"}) {
    OptimizeOptions options;
    options.kernels_from = from;
    options.layouts = "egraph";
    options.cost_db = ":memory:";
    options.threads = 1;
    options.profile_time = 5;
    options.measure_time = 0.1;
    const auto result = optimize(small_network(), options);
    ASSERT_TRUE(result.ok()) << from << ": " << result.status().message();
    EXPECT_TRUE(result->report.check.outputs.passed) << from;
    const auto division = backends::stored_division(result->graph, "cpu");
    const auto layouts = backends::stored_layouts(result->graph, division, "cpu");
    EXPECT_TRUE(layouts.empty() || layouts.kernels.size() == division.size()) << from;
  }
}

TEST(LayoutChoice, IsOfBackendsWithLayouts) {
  OptimizeOptions options;
  options.layouts = "egraph";
  options.backend = "reference";
  options.cost_db = ":memory:";
  options.threads = 1;
  options.profile_time = 1;
  options.measure_time = 0.05;
  ir::GraphBuilder b;
  const Value x = b.input("x", {DType::kF32, {1, 4, 4, 4}});
  b.output("y", b.add("relu", {b.add("relu", {x})}));
  const auto result = optimize(*b.finish(), options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  options.error_budget = 0.1;
  const auto refused = optimize(small_network(), options);
  EXPECT_EQ(refused.status().code(), base::StatusCode::kUsage);
}

}  // namespace
}  // namespace egret::driver
