// SPDX-License-Identifier: Apache-2.0
// Kernels of the whole e-graph against those of single graphs in it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/backend.h"
#include "backends/timing/measure.h"
#include "base/random.h"
#include "cost/database.h"
#include "cost/model.h"
#include "driver/select/kernel_choice.h"
#include "extract/core/extractor.h"
#include "ir/graph/builder.h"
#include "ir/graph/graph_text.h"
#include "rules/tensors/saturated_graph.h"

namespace egret::driver {
namespace {

using ir::DType;
using ir::Value;

// Prices that have little to do with the operators.
class RandomPrices final : public cost::Model {
 public:
  explicit RandomPrices(std::uint64_t seed) : seed_(seed) {}
  std::string_view name() const override { return "random"; }
  base::Result<cost::Cost> cost(const cost::Query& query) override {
    std::uint64_t hash = seed_;
    for (const char c : query.op->name()) hash = base::hash_combine(hash, std::uint64_t(c));
    for (const ir::TensorType& type : query.inputs)
      hash = base::hash_combine(hash, static_cast<std::uint64_t>(type.elements()));
    return cost::Cost{.seconds = base::Random(hash).uniform(1e-6, 1e-4)};
  }

 private:
  std::uint64_t seed_;
};

ir::Graph random_graph(base::Random& random, int operators) {
  ir::GraphBuilder b;
  const ir::TensorType square(DType::kF32, {64, 64});
  std::vector<Value> values{b.input("x", square), b.input("y", square)};
  const auto any = [&] { return values[random.below(values.size())]; };
  const auto other = [&] { return values[random.below(values.size() - 1)]; };  // not the last
  const ir::Attrs turned{{"perm", ir::Integers{1, 0}}};
  const ir::Attrs of_rows{{"axes", ir::Integers{1}}, {"keepdims", std::int64_t{1}}};
  while (operators-- > 0) {
    const Value x = values.back();
    switch (random.below(8)) {
      case 0: values.push_back(b.add("add", {x, any()})); break;
      case 1: values.push_back(b.add("mul", {any(), x})); break;
      case 2: values.push_back(b.add("sub", {x, other()})); break;
      case 3: values.push_back(b.add("transpose", {x}, turned)); break;
      case 4: values.push_back(b.add("relu", {x})); break;
      case 5:
        values.push_back(b.add("matmul", {x, b.constant(ir::Tensor::random(square, random))}));
        break;
      case 6: values.push_back(b.add("sub", {x, b.add("reduce_max", {any()}, of_rows)})); break;
      default: values.push_back(b.add("matmul", {x, any()}));
    }
  }
  b.output("z", values.back());
  return *b.finish();
}

struct Program {
  rules::SaturatedGraph saturated;
  egraph::EGraphView view;
  // The graph that is cheapest by the sum over its operators, and the program as it was.
  std::vector<GivenProgram> given;
};

Program program_of(const ir::Graph& graph, cost::Model& model) {
  Program program;
  rules::SaturateOptions options;
  options.limits.nodes = 400;
  program.saturated = *rules::saturate(graph, *rules::AdmittedRules::select("default"), options, 1);
  const rules::TensorEGraph& tensors = *program.saturated.tensors;
  program.view = egraph::make_view(tensors.egraph(), tensors.roots());
  const std::vector<double> costs = *price_nodes(tensors, program.view, model);
  const auto cheapest = extract::find_extractor("auto")
                            ->extract({program.view, costs}, {.time_limit_s = 2, .should_stop = {}})
                            ->choice;
  for (const rules::Selection& nodes :
       {tensors.from_view(program.view, cheapest), tensors.original()}) {
    GivenProgram& given = program.given.emplace_back();
    given.graph = *tensors.to_graph(nodes, tensors.roots(), &given.origins);
    given.is_start = true;
  }
  return program;
}

KernelChoiceOptions options_of(const char* extractor) {
  return {.extractor = extract::find_extractor(extractor),
          .extraction = {.time_limit_s = 2, .should_stop = {}},
          .backend = backends::find_backend("cpu"),
          .plan = {.threads = 1}};
}

KernelChoice kernels_of(const Program& program, cost::Model& model,
                        std::span<const GivenProgram> given, const KernelChoiceOptions& options) {
  const auto chosen =
      choose_kernels(*program.saturated.tensors, program.view, model, given, options, nullptr);
  EXPECT_TRUE(chosen.ok()) << chosen.status().message();
  return chosen.ok() ? *chosen : KernelChoice();
}

// Predicted times of each way.
struct Ways {
  double joint = 0;
  double sequential = 0, fusion = 0;  // kernels chosen for the cheapest graph, and for the program
  double as_divided = 0;              // the program, as the backend divides it
  double at_once = 0;                 // joint, with nothing to start from
};

Ways ways_of(const Program& program, cost::Model& model, KernelChoiceOptions options) {
  Ways ways;
  options.only_graph = true;
  const std::span given(program.given);
  ways.sequential = kernels_of(program, model, given.first(1), options).times.seconds;
  const KernelChoice fusion = kernels_of(program, model, given.subspan(1), options);
  ways.fusion = fusion.times.seconds;
  ways.as_divided = fusion.times_of_given.front().seconds;
  options.only_graph = false;
  ways.joint = kernels_of(program, model, given, options).times.seconds;
  ways.at_once = kernels_of(program, model, {}, options).times.seconds;
  return ways;
}

// Also by an extractor that may find worse answers in a larger e-graph.
TEST(JointKernels, AreEstimatedNoSlowerThanAnyOtherWay) {
  base::Random random(11);
  int better = 0, worse_at_once = 0;
  for (int i = 0; i < 10; ++i) {
    RandomPrices model(static_cast<std::uint64_t>(i));
    const Program program = program_of(random_graph(random, 12), model);
    for (const char* extractor : {"tree-greedy", "auto"}) {
      KernelChoiceOptions options = options_of(extractor);
      options.seconds = 0;
      const Ways ways = ways_of(program, model, options);
      const double least = std::min({ways.sequential, ways.fusion, ways.as_divided});
      EXPECT_GT(least, 0);
      EXPECT_LE(ways.joint, least * (1 + 1e-9)) << "graph " << i << " by " << extractor;
      better += ways.joint < least * 0.999 ? 1 : 0;
      worse_at_once += ways.at_once > least * 1.001 ? 1 : 0;
    }
  }
  EXPECT_GT(better, 0);
  EXPECT_GT(worse_at_once, 0);
}

KernelChoiceOptions measured_by(cost::Database& database) {
  KernelChoiceOptions options = options_of("auto");
  options.kept = {.database = &database, .machine = "here", .seconds = 0.01};
  options.seconds = 10;
  return options;
}

// Times that one has measured are those that the other finds.
TEST(JointKernels, AreMeasuredNoSlowerThanAnyOtherWay) {
  base::Random random(12);
  for (int i = 0; i < 4; ++i) {
    RandomPrices model(static_cast<std::uint64_t>(i));
    const Program program = program_of(random_graph(random, 10), model);
    const auto database = cost::Database::open(":memory:");
    ASSERT_TRUE(database.ok());
    const KernelChoiceOptions options = measured_by(**database);
    // The second time from the answers that are kept.
    for (int run = 0; run < 2; ++run) {
      const Ways ways = ways_of(program, model, options);
      // The database keeps nine digits.
      const double least = std::min({ways.sequential, ways.fusion, ways.as_divided}) * (1 + 1e-6);
      EXPECT_LE(ways.joint, least) << i << ", run " << run;
    }
  }
}

// The next search goes on where the time ended one.
TEST(JointKernels, ThatTheTimeCutOffAreNotFinal) {
  base::Random random(13);
  RandomPrices model(3);
  const Program program = program_of(random_graph(random, 12), model);
  const auto database = cost::Database::open(":memory:");
  ASSERT_TRUE(database.ok());
  KernelChoiceOptions options = measured_by(**database);
  options.seconds = 1e-3;  // for the first program, which is begun in time, at most
  const auto& given = program.given;
  const KernelChoice early = kernels_of(program, model, given, options);
  options.seconds = 20;
  const KernelChoice late = kernels_of(program, model, given, options);
  EXPECT_GT(late.newly_measured, 0);
  EXPECT_TRUE(late.times.measured);
  if (early.times.measured) {
    EXPECT_LE(late.times.seconds, early.times.seconds * (1 + 1e-6));
  }
  // What ended by itself is not measured again.
  KernelChoice again = late;
  for (int run = 0; run < 6 && again.newly_measured > 0; ++run)
    again = kernels_of(program, model, given, options);
  EXPECT_EQ(again.newly_measured, 0);
  EXPECT_EQ(kernels_of(program, model, given, options).rounds, 0);
}

// The largest difference between a divided program's outputs and the interpreter's, and the number
// of its kernels.
struct Comparison {
  double difference = 0;
  std::size_t kernels = 0;
};

Comparison compare(const DividedGraph& program, const backends::Backend& backend) {
  Comparison result;
  const auto plan = backend.compile(program.graph, {.threads = 1, .division = program.division});
  const auto reference = backends::find_backend("reference")->compile(program.graph, {});
  EXPECT_TRUE(plan.ok() && reference.ok()) << plan.status().message();
  if (!plan.ok() || !reference.ok()) return {.difference = 1};
  result.kernels = (*plan)->report().kernels.size();
  const auto inputs = backends::random_inputs(**plan, base::Random(1));
  const auto outputs = (*plan)->run(inputs), expected = (*reference)->run(inputs);
  for (std::size_t k = 0; k < expected->size(); ++k) {
    for (std::int64_t i = 0; i < (*expected)[k].elements(); ++i)
      result.difference =
          std::max(result.difference, std::abs((*outputs)[k].f64_at(i) - (*expected)[k].f64_at(i)));
  }
  return result;
}

// Two functions of one value, which is no constant: one kernel reads it once.
TEST(JointKernels, StoreSeveralValues) {
  ir::GraphBuilder b;
  const Value x = b.input("x", {DType::kF32, {64, 64}});
  const Value product = b.add("matmul", {x, x});
  b.output("a", b.add("tanh", {product}));
  b.output("b", b.add("relu", {product}));
  const ir::Graph graph = *b.finish();
  RandomPrices model(1);
  const Program program = program_of(graph, model);
  KernelChoiceOptions options = options_of("auto");
  options.seconds = 0;
  const KernelChoice chosen = kernels_of(program, model, program.given, options);
  EXPECT_EQ(chosen.program.division.size(), 2U);  // two cost as much as the dearer one
  const Comparison joint = compare(chosen.program, *options.backend);
  EXPECT_EQ(joint.kernels, 2U);
  EXPECT_LT(joint.difference, 1e-3);
  // A backend without such kernels is not asked to make them.
  options.backend = backends::find_backend("codegen");
  const KernelChoice apart = kernels_of(program, model, program.given, options);
  EXPECT_LT(compare(apart.program, *options.backend).difference, 1e-3);
}

// Two moments of a sum, and the sum itself: one kernel reads its operands once.
TEST(JointKernels, StoreReductionsBesideWhatTheyReduce) {
  ir::GraphBuilder b;
  const ir::TensorType type(DType::kF32, {32, 256});
  const Value sum = b.add("add", {b.input("x", type), b.input("r", type)});
  const ir::Attrs of_rows{{"axes", ir::Integers{1}}, {"keepdims", std::int64_t{1}}};
  b.output("sum", sum);
  b.output("mean", b.add("reduce_mean", {sum}, of_rows));
  b.output("squares", b.add("reduce_mean", {b.add("mul", {sum, sum})}, of_rows));
  const ir::Graph graph = *b.finish();
  RandomPrices model(2);
  const Program program = program_of(graph, model);
  KernelChoiceOptions options = options_of("auto");
  options.seconds = 0;
  const KernelChoice chosen = kernels_of(program, model, program.given, options);
  EXPECT_EQ(chosen.program.division.size(), 1U);
  const Comparison joint = compare(chosen.program, *options.backend);
  EXPECT_EQ(joint.kernels, 1U);
  EXPECT_LT(joint.difference, 1e-4);
}

ir::Graph gated_layer() {
  ir::GraphBuilder b;
  base::Random random(3);
  const Value x = b.input("x", {DType::kF32, {4, 96}});
  const auto weights = [&] {
    return b.constant(ir::Tensor::random({DType::kF32, {96, 160}}, random));
  };
  const Value gate = b.add("matmul", {x, weights()});
  const Value silu = b.add("mul", {gate, b.add("sigmoid", {gate})});
  b.output("y", b.add("mul", {silu, b.add("matmul", {x, weights()})}));
  return *b.finish();
}

// silu(x W1) * (x W2): no other kernel has two products.
TEST(JointKernels, AreGatedLayersOfTwoProducts) {
  const ir::Graph graph = gated_layer();
  RandomPrices model(2);
  const Program program = program_of(graph, model);
  KernelChoiceOptions options = options_of("auto");
  options.seconds = 0;
  const KernelChoice chosen = kernels_of(program, model, program.given, options);
  EXPECT_EQ(chosen.program.division.size(), 1U);
  const Comparison joint = compare(chosen.program, *options.backend);
  EXPECT_EQ(joint.kernels, 1U);
  EXPECT_LT(joint.difference, 1e-3);
}

// As where operators were measured alone, with all values in memory, or on a busier machine.
class DearOperators final : public cost::Model {
 public:
  std::string_view name() const override { return "dear"; }
  base::Result<cost::Cost> cost(const cost::Query& /*query*/) override {
    return cost::Cost{.seconds = 1};
  }
};

TEST(JointKernels, AreTriedThoughOperatorsAloneTookLonger) {
  const ir::Graph graph = gated_layer();
  DearOperators model;
  const Program program = program_of(graph, model);
  const auto database = cost::Database::open(":memory:");
  ASSERT_TRUE(database.ok());
  const KernelChoice chosen = kernels_of(program, model, program.given, measured_by(**database));
  EXPECT_TRUE(chosen.times.measured);
  // Whichever way was faster here, the kernel of both products was among those that ran.
  const auto rows = (*database)->rows();
  ASSERT_TRUE(rows.ok());
  const auto products = [](std::string_view text) {
    int count = 0;
    for (std::size_t at = text.find("matmul"); at != std::string_view::npos;
         at = text.find("matmul", at + 1))
      ++count;
    return count;
  };
  EXPECT_TRUE(std::ranges::any_of(*rows, [&](const cost::Database::Row& row) {
    return row.key.starts_with("piece ") && products(row.key) == 2;
  }));
}

// The scores of one query and the mean squares of the keys: both kernels would read the keys.
TEST(JointKernels, AreScoresWithTheSquaresOfTheirKeys) {
  ir::GraphBuilder b;
  const Value q = b.input("q", {DType::kF32, {3, 1, 128}}),
              k = b.input("k", {DType::kF32, {3, 50, 128}});
  const Value transposed = b.add("transpose", {k}, {{"perm", ir::Integers{0, 2, 1}}});
  b.output("scores", b.add("matmul", {q, transposed}));
  const ir::Attrs of_keys{{"axes", ir::Integers{2}}, {"keepdims", std::int64_t{1}}};
  b.output("squares", b.add("reduce_mean", {b.add("mul", {k, k})}, of_keys));
  const ir::Graph graph = *b.finish();
  RandomPrices model(2);
  const Program program = program_of(graph, model);
  KernelChoiceOptions options = options_of("auto");
  options.seconds = 0;
  const KernelChoice chosen = kernels_of(program, model, program.given, options);
  EXPECT_EQ(chosen.program.division.size(), 1U) << ir::to_text(chosen.program.graph);
  const Comparison joint = compare(chosen.program, *options.backend);
  EXPECT_EQ(joint.kernels, 1U);
  EXPECT_LT(joint.difference, 1e-3);
}

// The CPU backend, which cannot divide some graphs.
class Picky final : public backends::Backend {
 public:
  explicit Picky(std::vector<std::string> refused) : refused_(std::move(refused)) {}
  std::string_view name() const override { return cpu().name(); }
  std::string_view doc() const override { return cpu().doc(); }
  std::string version() const override { return cpu().version(); }
  base::Status availability() const override { return base::ok(); }
  base::Result<std::unique_ptr<backends::ExecutablePlan>> compile(
      const ir::Graph& graph, const backends::CompileOptions& options) const override {
    return cpu().compile(graph, options);
  }
  base::Result<backends::Division> divide(const ir::Graph& graph,
                                          const backends::CompileOptions& options) const override {
    if (std::ranges::count(refused_, ir::to_text(graph)) > 0)
      return base::unsupported("this graph is refused");
    return cpu().divide(graph, options);
  }

 private:
  static const backends::Backend& cpu() { return *backends::find_backend("cpu"); }
  std::vector<std::string> refused_;
};

// A start that fails is left out.
TEST(JointKernels, DoNotNeedEachStart) {
  base::Random random(4);
  RandomPrices model(6);
  Program program = program_of(random_graph(random, 8), model);
  for (int i = 0;
       i < 20 && ir::to_text(program.given[0].graph) == ir::to_text(program.given[1].graph); ++i)
    program = program_of(random_graph(random, 8), model);
  const std::string cheapest = ir::to_text(program.given[0].graph);
  const std::string original = ir::to_text(program.given[1].graph);
  ASSERT_NE(cheapest, original);
  KernelChoiceOptions options = options_of("auto");
  options.seconds = 0;
  for (const std::string& refused : {cheapest, original}) {
    const Picky backend({refused});
    options.backend = &backend;
    const auto chosen = choose_kernels(*program.saturated.tensors, program.view, model,
                                       program.given, options, nullptr);
    ASSERT_TRUE(chosen.ok()) << chosen.status().message();
    EXPECT_GT(chosen->program.graph.operator_count(), 0U);
    EXPECT_EQ(chosen->times_of_given.size(), 2U);
    ASSERT_EQ(chosen->solution.notes.size(), 1U);
    EXPECT_NE(chosen->solution.notes[0].find("this graph is refused"), std::string::npos);
  }
  // The whole e-graph still has an answer, without them.
  const Picky none({cheapest, original});
  options.backend = &none;
  const auto whole = choose_kernels(*program.saturated.tensors, program.view, model, program.given,
                                    options, nullptr);
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  EXPECT_EQ(whole->solution.notes.size(), 2U);
  // One that is no start has to be divided.
  program.given[0].is_start = program.given[1].is_start = false;
  EXPECT_FALSE(choose_kernels(*program.saturated.tensors, program.view, model, program.given,
                              options, nullptr)
                   .ok());
}

}  // namespace
}  // namespace egret::driver
