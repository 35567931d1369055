// SPDX-License-Identifier: Apache-2.0
#include "driver/measure/first_difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/evaluate/interpreter.h"
#include "ir/graph/builder.h"

namespace egret::driver {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Origin = FirstDifference::Origin;

const ir::TensorType kMatrix{ir::DType::kF32, {4, 4}};

// x -> h1 = x w -> h2 -> h3 -> y.
ir::Graph chain(const std::string& second, double weight = 0.5,
                const std::string& second_name = "h2") {
  ir::GraphBuilder b;
  const ir::Value x = b.input("x", kMatrix);
  const ir::Value w = b.constant(ir::Tensor::filled(kMatrix, weight), "w");
  const ir::Value h1 = b.add("matmul", {x, w});
  b.set_name(h1, "h1");
  const ir::Value h2 = b.add(second, {h1});
  b.set_name(h2, second_name);
  const ir::Value h3 = b.add("add", {h2, x});
  b.set_name(h3, "h3");
  b.output("y", b.add("tanh", {h3}));
  return b.finish().value();
}

class InterpretedPlan : public backends::ExecutablePlan {
 public:
  explicit InterpretedPlan(const ir::Graph& graph) : ExecutablePlan(graph), graph_(graph) {}
  backends::PlanReport report() const override { return {}; }

 private:
  base::Status execute(std::span<const ir::Tensor> inputs, std::span<ir::Tensor> outputs) override {
    EGRET_ASSIGN_OR_RETURN(std::vector<ir::Tensor> results,
                           ir::interpret(graph_, inputs, {.precision = ir::Precision::kF32}));
    std::ranges::move(results, outputs.begin());
    return base::ok();
  }
  ir::Graph graph_;
};

// Puts out the values of another graph that have the names.
std::unique_ptr<backends::ExecutablePlan> plan_of(ir::Graph graph,
                                                  std::span<const SharedValue> stored) {
  for (const SharedValue& value : stored) {
    const auto found =
        std::ranges::find(graph.nodes(), value.name, [](const ir::Node& n) { return n.name; });
    const auto index = static_cast<std::uint32_t>(found - graph.nodes().begin());
    graph.add_output(value.name, ir::NodeId(index));
  }
  return std::make_unique<InterpretedPlan>(graph);
}

std::optional<FirstDifference> find(const ir::Graph& a, const ir::Graph& b,
                                    const PlanOfStored& plan) {
  const auto found = first_difference(a, b, shared_values(a, b), plan, {});
  EXPECT_TRUE(found.ok()) << found.status().message();
  return found.ok() ? *found : std::nullopt;
}

PlanOfStored runs_as(const ir::Graph& graph) {
  return [graph](const ir::Graph&, std::span<const SharedValue> stored) {
    return base::Result<std::unique_ptr<backends::ExecutablePlan>>(plan_of(graph, stored));
  };
}

TEST(FirstDifference, OfModelsIsTheOperatorThatDiffers) {
  const ir::Graph b = chain("exp");
  const auto found = find(chain("relu"), b, runs_as(b));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->error.output, "h2");
  EXPECT_EQ(found->name_in_a, "h2");
  EXPECT_EQ(found->origin, Origin::kModels);
  EXPECT_THAT(found->in_a.operators, ElementsAre("relu"));
  EXPECT_THAT(found->in_b.operators, ElementsAre("exp"));
  EXPECT_THAT(found->in_b.from, ElementsAre("h1"));
  EXPECT_THAT(found->weights, IsEmpty());
  EXPECT_EQ(found->compared, 3U);
}

TEST(FirstDifference, NamesWeightsWithOtherElements) {
  const ir::Graph b = chain("relu", 0.75);
  const auto found = find(chain("relu"), b, runs_as(b));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->error.output, "h1");
  EXPECT_THAT(found->weights, ElementsAre("w"));
}

// Values of other names lie between the values that are compared.
TEST(FirstDifference, WithoutACommonNameIsTheNextSharedValue) {
  const ir::Graph b = chain("exp", 0.5, "renamed");
  const auto found = find(chain("relu"), b, runs_as(b));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->error.output, "h3");
  EXPECT_THAT(found->in_a.operators, ElementsAre("relu", "add"));
  EXPECT_THAT(found->in_b.operators, ElementsAre("exp", "add"));
  EXPECT_THAT(found->in_b.from, ::testing::UnorderedElementsAre("x", "h1"));
}

TEST(FirstDifference, OfARunIsNotInTheModels) {
  const ir::Graph b = chain("relu");
  const auto found = find(chain("relu"), b, runs_as(chain("exp")));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->error.output, "h2");
  EXPECT_EQ(found->origin, Origin::kRun);
  EXPECT_THAT(found->in_b.operators, ElementsAre("relu"));
}

// A kernel that is wrong where it computes h1 and h2 together.
TEST(FirstDifference, OfAFusionNamesTheValuesThatItDoesNotStore) {
  const ir::Graph b = chain("relu");
  const auto found =
      find(chain("relu"), b, [](const ir::Graph&, std::span<const SharedValue> stored) {
        const bool fused = std::ranges::none_of(
            stored, [](const SharedValue& value) { return value.name == "h1"; });
        return base::Result<std::unique_ptr<backends::ExecutablePlan>>(
            plan_of(chain(fused ? "exp" : "relu"), stored));
      });
  ASSERT_TRUE(found);
  EXPECT_EQ(found->error.output, "h2");
  EXPECT_EQ(found->origin, Origin::kFusion);
  EXPECT_THAT(found->not_stored, ElementsAre("h1"));
  EXPECT_THAT(found->in_b.operators, ElementsAre("matmul", "relu"));
}

// h2 = exp(h1) and relu(h1), of which y takes the part that is 0 in both; then a wrong run.
TEST(FirstDifference, IsBehindAWrongOutput) {
  const auto graph = [](const char* idle, const char* last) {
    ir::GraphBuilder b;
    const ir::Value x = b.input("x", kMatrix);
    const ir::Value unused = b.add(idle, {x});
    b.set_name(unused, "h1");
    const ir::Value zero = b.constant(ir::Tensor::filled(kMatrix, 0), "zero");
    const ir::Value h2 = b.add("add", {x, b.add("mul", {unused, zero})});
    b.set_name(h2, "h2");
    b.output("y", b.add(last, {h2}));
    return *b.finish();
  };
  const ir::Graph b = graph("exp", "tanh");
  const auto found = find(graph("relu", "tanh"), b, runs_as(graph("exp", "relu")));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->origin, Origin::kRun);
  EXPECT_FALSE(find(graph("relu", "tanh"), b, runs_as(b)));
}

TEST(FirstDifference, OfEqualModelsIsNone) {
  const ir::Graph b = chain("relu");
  EXPECT_FALSE(find(chain("relu"), b, runs_as(b)));
}

TEST(FirstDifference, PassesErrorsOfPlansOn) {
  const ir::Graph b = chain("relu");
  const auto found = first_difference(
      chain("relu"), b, shared_values(b, b),
      [](const ir::Graph&, std::span<const SharedValue>) {
        return base::Result<std::unique_ptr<backends::ExecutablePlan>>(base::unsupported("no"));
      },
      {});
  EXPECT_EQ(found.status().code(), base::StatusCode::kUnsupported);
}

TEST(SharedValues, AreComputedInBothAndNoOutputs) {
  const ir::Graph a = chain("relu");
  const auto names = [&](const ir::Graph& b, const std::function<bool(const std::string&)>& may) {
    std::vector<std::string> result;
    for (const SharedValue& value : shared_values(a, b, may)) result.push_back(value.name);
    return result;
  };
  EXPECT_THAT(names(chain("relu"), {}), ElementsAre("h1", "h2", "h3"));
  EXPECT_THAT(names(chain("relu", 0.5, "y"), {}), ElementsAre("h1", "h3"));
  EXPECT_THAT(names(chain("relu"), [](const std::string& name) { return name == "h2"; }),
              ElementsAre("h2"));
}

}  // namespace
}  // namespace egret::driver
