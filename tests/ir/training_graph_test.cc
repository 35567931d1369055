// SPDX-License-Identifier: Apache-2.0
#include "ir/autodiff/training_graph.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "ir/evaluate/input_draws.h"
#include "ir/evaluate/interpreter.h"

namespace egret::ir {
namespace {

// relu(x * w1 + b1) * w2 + b2
Graph small_network(std::int64_t batch, std::int64_t in, std::int64_t hidden, std::int64_t out) {
  base::Random random(5);
  GraphBuilder b;
  const auto weight = [&](const char* name, TensorType type) {
    return b.constant(Tensor::random(type, random), name);
  };
  const Value x = b.input("x", {DType::kF32, {batch, in}});
  const Value first = b.add("matmul", {x, weight("w1", {DType::kF32, {in, hidden}})});
  const Value h = b.add("relu", {b.add("add", {first, weight("b1", {DType::kF32, {hidden}})})});
  const Value second = b.add("matmul", {h, weight("w2", {DType::kF32, {hidden, out}})});
  b.output("y", b.add("add", {second, weight("b2", {DType::kF32, {out}})}));
  return *b.finish();
}

// y = w * x of one number.
Graph one_weight(double w) {
  GraphBuilder b;
  const Value x = b.input("x", {DType::kF32, {1}});
  const double values[] = {w};
  const Value weight = b.constant(Tensor::of(DType::kF32, Shape{1}, values), "w");
  b.output("y", b.add("mul", {x, weight}));
  return *b.finish();
}

// Losses of `steps` steps that each start where the last one ended.
std::vector<double> losses_of(const TrainingGraph& step, std::vector<Tensor> data, int steps,
                              std::vector<Tensor>* last = nullptr) {
  std::vector<Tensor> variables = step.initial;
  std::vector<double> losses;
  for (int i = 0; i < steps; ++i) {
    std::vector<Tensor> inputs = data;
    inputs.insert(inputs.end(), variables.begin(), variables.end());
    auto outputs = interpret(step.graph, inputs);
    EXPECT_TRUE(outputs.ok()) << outputs.status().message();
    if (!outputs.ok()) return losses;
    losses.push_back((*outputs)[0].f64_at(0));
    variables.assign(outputs->begin() + 1, outputs->end());
  }
  if (last != nullptr) *last = variables;
  return losses;
}

Tensor number(double value) {
  const double values[] = {value};
  return Tensor::of(DType::kF64, Shape{1}, values);
}

TEST(TrainingGraph, NamesWhatGoesInAndComesOut) {
  const auto step =
      training_graph(small_network(4, 3, 5, 2), {.loss = "mse", .optimizer = "momentum"});
  ASSERT_TRUE(step.ok()) << step.status().message();
  std::vector<std::string> inputs;
  for (const NodeId id : step->graph.inputs()) inputs.push_back(step->graph.node(id).name);
  EXPECT_EQ(inputs, (std::vector<std::string>{"x", "labels", "w1", "b1", "w2", "b2", "w1.momentum",
                                              "b1.momentum", "w2.momentum", "b2.momentum"}));
  EXPECT_EQ(step->graph.outputs().size(), 9U);
  EXPECT_EQ(step->graph.outputs()[0].name, "loss");
  EXPECT_EQ(step->graph.outputs()[1].name, "w1.next");
  EXPECT_EQ(step->graph.outputs()[5].name, "w1.momentum.next");
}

TEST(TrainingGraph, LearnsWithEveryLossAndOptimizer) {
  base::Random random(9);
  const Tensor x = Tensor::random({DType::kF32, {8, 3}}, random);
  const std::int64_t classes[] = {0, 1, 1, 0, 2, 2, 1, 0};
  for (const TrainingRow& loss : losses()) {
    for (const TrainingRow& optimizer : optimizers()) {
      const auto step =
          training_graph(small_network(8, 3, 16, 3), {.loss = std::string(loss.name),
                                                      .optimizer = std::string(optimizer.name),
                                                      .learning_rate = 0.05});
      ASSERT_TRUE(step.ok()) << step.status().message();
      const Tensor labels = loss.name == "mse" ? Tensor::random({DType::kF32, {8, 3}}, random)
                                               : Tensor::of_integers(classes);
      const std::vector<double> curve = losses_of(*step, {x, labels}, 60);
      ASSERT_EQ(curve.size(), 60U);
      EXPECT_LT(curve.back(), 0.7 * curve.front()) << loss.name << " " << optimizer.name;
    }
  }
}

// (w*x - y)^2 with gradient 2 (w*x - y) x, stepped by hand.
TEST(TrainingGraph, StepsAsTheOptimizersAreDefined) {
  const double x = 1.5;
  const double y = -0.25;
  const auto slope = [&](double w) { return 2 * (w * x - y) * x; };
  for (const TrainingRow& optimizer : optimizers()) {
    const auto step = training_graph(
        one_weight(0.5),
        {.loss = "mse", .optimizer = std::string(optimizer.name), .learning_rate = 0.1});
    ASSERT_TRUE(step.ok()) << step.status().message();
    std::vector<Tensor> last;
    losses_of(*step, {number(x), number(y)}, 3, &last);
    double w = 0.5;
    double v = 0;
    double m = 0;
    for (int t = 1; t <= 3; ++t) {
      const double g = slope(w);
      if (optimizer.name == "sgd") w -= 0.1 * g;
      if (optimizer.name == "momentum") w -= 0.1 * (v = 0.9 * v + g);
      if (optimizer.name != "adam") continue;
      m = 0.9 * m + 0.1 * g;
      v = 0.999 * v + 0.001 * g * g;
      w -= 0.1 * (m / (1 - std::pow(0.9, t))) / (std::sqrt(v / (1 - std::pow(0.999, t))) + 1e-8);
    }
    EXPECT_NEAR(last[0].f64_at(0), w, 1e-5) << optimizer.name;  // 0.999 is a number of f32
  }
}

// log(sum exp(x)) - x at the class, and its gradient softmax(x) minus 1 at the class; a label
// counts modulo the number of classes. Devices that hold some of the classes each have a part of it
// only if nothing is looked up or scattered by a label.
TEST(TrainingGraph, CrossEntropyIsASumWithAMask) {
  constexpr std::int64_t kRows = 3, kClasses = 5;
  GraphBuilder b;
  const Value x = b.input("x", {DType::kF32, {kRows, 1}});
  const double values[] = {0.5, -1.25, 2, 0.75, -0.5};
  const Value w = b.constant(Tensor::of(DType::kF32, Shape{1, kClasses}, values), "w");
  b.output("y", b.add("matmul", {x, w}));
  const auto step = training_graph(*b.finish(), {.loss = "cross_entropy", .learning_rate = 1});
  ASSERT_TRUE(step.ok()) << step.status().message();
  for (const Node& node : step->graph.nodes()) {
    if (node.op == nullptr) continue;
    EXPECT_EQ(node.op->name().find("gather"), std::string::npos) << node.op->name();
    EXPECT_EQ(node.op->name().find("scatter"), std::string::npos) << node.op->name();
  }
  const double scales[] = {1, -2, 0.5};
  const std::int64_t labels[] = {4, 0, -3};
  const std::int64_t classes[] = {4, 0, 2};
  double loss = 0;
  std::vector<double> gradient(kClasses, 0);
  for (std::size_t row = 0; row < kRows; ++row) {
    double total = 0;
    for (const double value : values) total += std::exp(scales[row] * value);
    const auto own = static_cast<std::size_t>(classes[row]);
    loss += (std::log(total) - scales[row] * values[own]) / kRows;
    for (std::size_t c = 0; c < kClasses; ++c) {
      const double slope = std::exp(scales[row] * values[c]) / total - (c == own ? 1 : 0);
      gradient[c] += slope * scales[row] / kRows;
    }
  }
  std::vector<Tensor> last;
  const std::vector<Tensor> data{Tensor::of(DType::kF32, Shape{kRows, 1}, scales),
                                 Tensor::of_integers(labels)};
  EXPECT_NEAR(losses_of(*step, data, 1, &last)[0], loss, 1e-6);
  for (std::size_t c = 0; c < kClasses; ++c)
    EXPECT_NEAR(last[0].f64_at(static_cast<std::int64_t>(c)), values[c] - gradient[c], 1e-6) << c;
}

TEST(TrainingGraph, LeavesFrozenConstantsAlone) {
  const auto step =
      training_graph(small_network(4, 3, 5, 2), {.loss = "mse", .freeze = {"w2", "b*"}});
  ASSERT_TRUE(step.ok()) << step.status().message();
  EXPECT_EQ(step->parameters, std::vector<std::string>{"w1"});
}

// A dense layer and a batch norm; `shared` is its scale and its variance.
Graph normalized_network(bool shared) {
  base::Random random(5);
  GraphBuilder b;
  const Value x = b.input("x", {DType::kF32, {8, 4}});
  const Value w = b.constant(Tensor::random({DType::kF32, {4, 3}}, random), "w");
  const auto vector = [&](const char* name, double value) {
    return b.constant(Tensor::filled({DType::kF32, {3}}, value), name);
  };
  const Value var = vector("var", 0.01);
  const Value scale = shared ? var : vector("scale", 1);
  b.output("y", b.add("batch_norm", {b.add("matmul", {x, w}), scale, vector("bias", 0),
                                     vector("mean", 0.1), var}));
  return *b.finish();
}

TEST(TrainingGraph, MomentsOfDataAreNoParameters) {
  const auto step = training_graph(normalized_network(false), {.loss = "mse"});
  ASSERT_TRUE(step.ok()) << step.status().message();
  EXPECT_EQ(step->parameters, (std::vector<std::string>{"w", "scale", "bias"}));
  const auto shared = training_graph(normalized_network(true), {.loss = "mse"});
  ASSERT_TRUE(shared.ok()) << shared.status().message();
  EXPECT_EQ(shared->parameters, (std::vector<std::string>{"w", "var", "bias"}));
  // As a scale it moves, as a variance it does not, or its root would be none before long.
  base::Random random(9);
  const std::vector<Tensor> data{Tensor::random({DType::kF32, {8, 4}}, random),
                                 Tensor::random({DType::kF32, {8, 3}}, random)};
  for (const auto& each : {*step, *shared}) {
    for (const double loss : losses_of(each, data, 20)) EXPECT_TRUE(std::isfinite(loss)) << loss;
  }
}

TEST(TrainingGraph, SaysWhatItsInputsAreLike) {
  for (const TrainingRow& optimizer : optimizers()) {
    const auto step =
        training_graph(normalized_network(true),
                       {.loss = "cross_entropy", .optimizer = std::string(optimizer.name)});
    ASSERT_TRUE(step.ok()) << step.status().message();
    const std::vector<Draw> draws = input_draws(step->graph);
    EXPECT_EQ(draws[1].low, 0);  // labels
    EXPECT_EQ(draws[1].high, 2);
    EXPECT_LT(draws[2].low, 0);  // w
    EXPECT_GT(draws[3].low, 0);  // var, which is 0.01 everywhere
    EXPECT_LT(draws[3].high, 0.03);
    base::Random random(2);
    const auto outputs = interpret(step->graph, random_inputs(step->graph, random));
    ASSERT_TRUE(outputs.ok()) << outputs.status().message();
    for (const Tensor& output : *outputs) {
      for (std::int64_t i = 0; i < output.elements(); ++i)
        EXPECT_TRUE(std::isfinite(output.f64_at(i))) << optimizer.name;
    }
  }
}

TEST(TrainingGraph, SharesWhatForwardAndBackwardHaveInCommon) {
  const auto step = training_graph(small_network(4, 3, 5, 2), {.loss = "mse"});
  ASSERT_TRUE(step.ok()) << step.status().message();
  int products = 0;
  for (const Node& node : step->graph.nodes()) {
    products += node.op != nullptr && node.op->name() == "matmul";
  }
  // Two forward, two for the weights, one for the hidden layer; x has no gradient.
  EXPECT_EQ(products, 5);
}

TEST(TrainingGraph, RefusesWhatItCannotTrain) {
  const Graph network = small_network(4, 3, 5, 2);
  EXPECT_EQ(training_graph(network, {.model_output = "z"}).status().code(),
            base::StatusCode::kUsage);
  EXPECT_EQ(training_graph(network, {.freeze = {"w3"}}).status().code(), base::StatusCode::kUsage);
  EXPECT_EQ(training_graph(network, {.freeze = {"*"}}).status().code(),
            base::StatusCode::kBadInput);
}

}  // namespace
}  // namespace egret::ir
