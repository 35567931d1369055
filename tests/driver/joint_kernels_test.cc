// SPDX-License-Identifier: Apache-2.0
// Kernels of the whole e-graph against those of one of its graphs.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backends/backend.h"
#include "base/random.h"
#include "cost/database.h"
#include "cost/model.h"
#include "driver/select/kernel_choice.h"
#include "extract/core/extractor.h"
#include "ir/graph/builder.h"
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
  const ir::TensorType square(DType::kF32, {16, 16});
  std::vector<Value> values{b.input("x", square), b.input("y", square)};
  const auto any = [&] { return values[random.below(values.size())]; };
  const ir::Attrs turned{{"perm", ir::Integers{1, 0}}};
  while (operators-- > 0) {
    const Value x = values.back();
    switch (random.below(7)) {
      case 0: values.push_back(b.add("add", {x, any()})); break;
      case 1: values.push_back(b.add("mul", {any(), x})); break;
      case 2: values.push_back(b.add("sub", {x, any()})); break;
      case 3: values.push_back(b.add("transpose", {x}, turned)); break;
      case 4: values.push_back(b.add("relu", {x})); break;
      case 5:
        values.push_back(b.add("matmul", {x, b.constant(ir::Tensor::random(square, random))}));
        break;
      default: values.push_back(b.add("matmul", {x, any()}));
    }
  }
  b.output("z", values.back());
  return *b.finish();
}

struct Program {
  rules::SaturatedGraph saturated;
  egraph::EGraphView view;
  std::vector<extract::NodeIndex> cheapest;
  GivenProgram given;
};

// The graph that is cheapest by the sum over its operators.
Program program_of(const ir::Graph& graph, cost::Model& model) {
  Program program;
  rules::SaturateOptions options;
  options.limits.nodes = 400;
  program.saturated = *rules::saturate(graph, *rules::AdmittedRules::select("default"), options, 1);
  const rules::TensorEGraph& tensors = *program.saturated.tensors;
  program.view = egraph::make_view(tensors.egraph(), tensors.roots());
  const std::vector<double> costs = *price_nodes(tensors, program.view, model);
  program.cheapest = extract::find_extractor("auto")
                         ->extract({program.view, costs}, {.time_limit_s = 2, .should_stop = {}})
                         ->choice;
  program.given.graph = *tensors.to_graph(tensors.from_view(program.view, program.cheapest),
                                          tensors.roots(), &program.given.origins);
  return program;
}

KernelChoiceOptions options_of(const Program& program, const char* extractor) {
  return {.extractor = extract::find_extractor(extractor),
          .extraction = {.time_limit_s = 2, .should_stop = {}},
          .graph = program.cheapest,
          .backend = backends::find_backend("cpu"),
          .plan = {.threads = 1}};
}

double seconds_of(const Program& program, cost::Model& model, KernelChoiceOptions options,
                  bool only_graph) {
  options.only_graph = only_graph;
  const auto chosen = choose_kernels(*program.saturated.tensors, program.view, model,
                                     {&program.given, 1}, options, nullptr);
  EXPECT_TRUE(chosen.ok()) << chosen.status().message();
  return chosen.ok() ? chosen->times.seconds : 0;
}

// Also by an extractor that may find worse answers in a larger e-graph.
TEST(JointKernels, AreEstimatedNoSlowerThanThoseOfTheCheapestGraph) {
  base::Random random(11);
  int better = 0, worse_at_once = 0;
  for (int i = 0; i < 16; ++i) {
    RandomPrices model(static_cast<std::uint64_t>(i));
    const Program program = program_of(random_graph(random, 12), model);
    for (const char* extractor : {"tree-greedy", "auto"}) {
      KernelChoiceOptions options = options_of(program, extractor);
      options.seconds = 0;
      const double sequential = seconds_of(program, model, options, true);
      const double joint = seconds_of(program, model, options, false);
      EXPECT_LE(joint, sequential * (1 + 1e-9)) << "graph " << i << " by " << extractor;
      better += joint < sequential * 0.999 ? 1 : 0;
      options.graph.clear();
      const double at_once = seconds_of(program, model, options, false);
      worse_at_once += at_once > sequential * 1.001 ? 1 : 0;
    }
  }
  EXPECT_GT(better, 0);
  EXPECT_GT(worse_at_once, 0);
}

// Times that one has measured are those that the other finds.
TEST(JointKernels, AreMeasuredNoSlowerThanThoseOfTheCheapestGraph) {
  base::Random random(12);
  for (int i = 0; i < 4; ++i) {
    RandomPrices model(static_cast<std::uint64_t>(i));
    const Program program = program_of(random_graph(random, 10), model);
    const auto database = cost::Database::open(":memory:");
    ASSERT_TRUE(database.ok());
    KernelChoiceOptions options = options_of(program, "auto");
    options.kept = {.database = database->get(), .machine = "here", .seconds = 0.01};
    options.seconds = 10;
    // The database keeps nine digits.
    const double sequential = seconds_of(program, model, options, true) * (1 + 1e-6);
    EXPECT_LE(seconds_of(program, model, options, false), sequential) << i;
    // And again, from the answers that are kept.
    EXPECT_LE(seconds_of(program, model, options, false), sequential) << i;
  }
}

}  // namespace
}  // namespace egret::driver
