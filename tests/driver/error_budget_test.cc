// SPDX-License-Identifier: Apache-2.0
#include "driver/precision/error_budget.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backends/low_precision.h"
#include "driver/optimize.h"
#include "driver/precision/form_errors.h"
#include "ir/graph/builder.h"

namespace egret::driver {
namespace {

using backends::OperandForm;
using ir::DType;
using ir::GraphBuilder;
using ir::Tensor;
using ir::Value;

const backends::Backend& cpu() { return *backends::find_backend("cpu"); }

class Weights {
 public:
  explicit Weights(GraphBuilder& b) : b_(b), random_(11) {}
  // Values of the size of a trained layer's: sums of `inputs` products keep their variance.
  Value operator()(const ir::Shape& shape, double inputs) {
    Tensor values = Tensor::random({DType::kF32, shape}, random_);
    for (float& value : values.mutable_as<float>())
      value *= static_cast<float>(std::sqrt(6 / inputs));
    return b_.constant(std::move(values));
  }

 private:
  GraphBuilder& b_;
  base::Random random_;
};

ir::Graph perceptron(std::int64_t rows, std::int64_t width) {
  GraphBuilder b;
  Weights weights(b);
  Value x = b.input("x", {DType::kF32, {rows, width}});
  for (int layer = 0; layer < 3; ++layer) {
    const auto inputs = static_cast<double>(width);
    x = b.add("add",
              {b.add("matmul", {x, weights({width, width}, inputs)}), weights({width}, 600)});
    if (layer < 2) x = b.add("relu", {x});
  }
  b.output("y", x);
  return *b.finish();
}

ir::Graph convolutions() {
  GraphBuilder b;
  Weights weights(b);
  const ir::Attrs same{{"strides", ir::Integers{1, 1}},
                       {"dilations", ir::Integers{1, 1}},
                       {"pads", ir::Integers{1, 1, 1, 1}}};
  Value x = b.input("x", {DType::kF32, {1, 64, 28, 28}});
  const auto layer = [&](Value value) {
    const Value y = b.add("conv", {value, weights({64, 64, 3, 3}, 576)}, same);
    return b.add("relu", {b.add("add", {y, weights({64, 1, 1}, 600)})});
  };
  const Value first = layer(x);
  x = b.add("add", {layer(layer(first)), first});
  x = b.add("reduce_mean", {x}, {{"axes", ir::Integers{2, 3}}});
  x = b.add("reshape", {x}, {{"shape", ir::Integers{1, 64}}});
  b.output("y", b.add("matmul", {x, weights({64, 10}, 64)}));
  return *b.finish();
}

std::vector<ir::NodeId> contractions_of(const ir::Graph& graph) {
  std::vector<ir::NodeId> found;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (backends::is_contraction(graph, ir::NodeId(i))) found.emplace_back(i);
  }
  return found;
}

double error_of(const ir::Graph& original, const ir::Graph& other,
                std::span<const Sample> samples) {
  const auto a = cpu().compile(original, {.threads = 1});
  const auto b = cpu().compile(other, {.threads = 1});
  EXPECT_TRUE(a.ok() && b.ok());
  const auto expected = outputs_on(**a, samples), got = outputs_on(**b, samples);
  EXPECT_TRUE(expected.ok() && got.ok());
  return relative_error(*expected, *got);
}

bool has(OperandForm form) {
  const ir::Graph graph = perceptron(16, 64);
  return cpu().takes_form(graph, contractions_of(graph).front(), form);
}

TEST(RelativeError, IsTheLargestOfTheOutputs) {
  const auto real = [](double a, double b) {
    const double values[] = {a, b};
    const std::int64_t shape[] = {2};
    return Tensor::of(DType::kF32, shape, values);
  };
  const Tensor four = Tensor::of_integers(std::vector<std::int64_t>{1, 2, 3, 4});
  const Tensor other = Tensor::of_integers(std::vector<std::int64_t>{1, 2, 3, 5});
  const std::vector<Sample> expected{{real(3, 4), four}}, same = expected;
  EXPECT_EQ(relative_error(expected, same), 0);
  const std::vector<Sample> off{{real(3, 4.5), four}};
  EXPECT_NEAR(relative_error(expected, off), 0.1, 1e-7);
  const std::vector<Sample> both{{real(3, 4.5), other}};
  EXPECT_NEAR(relative_error(expected, both), 0.25, 1e-7);
  const std::vector<Sample> overflow{{real(3, std::numeric_limits<double>::infinity()), four}};
  EXPECT_TRUE(std::isinf(relative_error(expected, overflow)));
  // Over two samples: sqrt(0.25 / 125).
  const std::vector<Sample> two{{real(3, 4), four}, {real(6, 8), four}};
  const std::vector<Sample> one_off{{real(3, 4.5), four}, {real(6, 8), four}};
  EXPECT_NEAR(relative_error(two, one_off), std::sqrt(0.25 / 125), 1e-7);
  // The deviations from the ratio of 0.002 are 0.2 and -0.2: a standard error of 0.4 / 125, and
  // Student's t of one degree of freedom is 6.314.
  EXPECT_NEAR(relative_error_bound(two, one_off), std::sqrt((0.25 + 6.314 * 0.4) / 125), 1e-6);
  // Samples of the same error leave no doubt.
  const std::vector<Sample> both_off{{real(3, 4.5), four}, {real(6, 9), four}};
  EXPECT_NEAR(relative_error_bound(two, both_off), 0.1, 1e-7);
}

// Of 1,000 sets of eight samples whose squared errors are exponentially distributed, which few
// samples show least: the mean of all lies beyond the limit of about as many sets as it may.
TEST(RelativeError, IsBoundedForOtherSamplesOfTheKind) {
  base::Random random(5);
  const auto one = [](double value) {
    const std::int64_t shape[] = {1};
    return Tensor::of(DType::kF32, shape, std::span<const double>(&value, 1));
  };
  int beyond = 0, beyond_means = 0;
  for (int set = 0; set < 1000; ++set) {
    std::vector<Sample> expected, got;
    for (int i = 0; i < 8; ++i) {
      const double square = -1e-4 * std::log(1 - random.uniform(0, 1));
      expected.push_back({one(1)});
      got.push_back({one(1 + std::sqrt(square))});
    }
    beyond += relative_error_bound(expected, got) < 1e-2 ? 1 : 0;
    beyond_means += relative_error(expected, got) < 1e-2 ? 1 : 0;
  }
  EXPECT_LT(beyond, 190);  // one standard error leaves about 250
  EXPECT_GT(beyond_means, 400);
}

TEST(MakeSamples, HoldsEverySecondOneOut) {
  const ir::Graph graph = perceptron(2, 8);
  const auto given = [](double value) {
    return ir::GivenInputs{{"x", Tensor::filled({DType::kF32, {2, 8}}, value)}};
  };
  const std::vector<ir::GivenInputs> sets{given(1), given(2), given(3)};
  const auto samples = make_samples(graph, sets, 1);
  ASSERT_TRUE(samples.ok());
  EXPECT_FALSE(samples->drawn);
  ASSERT_EQ(samples->calibration.size(), 2U);
  ASSERT_EQ(samples->held_out.size(), 1U);
  EXPECT_EQ(samples->calibration[1][0].f64_at(0), 3);
  EXPECT_EQ(samples->held_out[0][0].f64_at(0), 2);
  const auto single = make_samples(graph, std::span(sets).first(1), 1);
  EXPECT_EQ(single.status().code(), base::StatusCode::kUsage);
  std::vector<ir::GivenInputs> uneven(sets);
  uneven[1].clear();
  uneven[1].emplace("other", Tensor::scalar(DType::kF32, 1));
  EXPECT_EQ(make_samples(graph, uneven, 1).status().code(), base::StatusCode::kUsage);
  const auto drawn = make_samples(graph, {}, 1);
  ASSERT_TRUE(drawn.ok());
  EXPECT_TRUE(drawn->drawn);
  EXPECT_EQ(drawn->calibration.size(), drawn->held_out.size());
  const std::vector<ir::GivenInputs> unknown(2, {{"z", Tensor::scalar(DType::kF32, 1)}});
  EXPECT_EQ(make_samples(graph, unknown, 1).status().code(), base::StatusCode::kBadInput);
}

// The estimate of one contraction in a lower form is the error of a program with this one alone,
// and the squares add up to about the error of all together.
TEST(FormErrors, AreThoseOfProgramsWithOneLoweredKernel) {
  if (!has(OperandForm::kI8)) GTEST_SKIP() << "this processor has no such kernels";
  for (const ir::Graph& graph : {perceptron(16, 64), convolutions()}) {
    const auto samples = make_samples(graph, {}, 3);
    ASSERT_TRUE(samples.ok());
    const std::vector<ir::NodeId> contractions = contractions_of(graph);
    const auto errors =
        measure_form_errors(graph, contractions, samples->calibration, cpu(), {.threads = 1}, 60);
    ASSERT_TRUE(errors.ok()) << errors.status().message();
    const std::span<const Sample> first = std::span(samples->calibration).first(1);
    for (const OperandForm form : {OperandForm::kBF16, OperandForm::kI8}) {
      std::map<ir::NodeId, backends::Lowering> all;
      double sum = 0;
      for (std::size_t i = 0; i < contractions.size(); ++i) {
        const FormErrors::One& one = (*errors)[i][form];
        ASSERT_TRUE(one.possible);
        const auto rounded = backends::with_roundings(graph, {}, {{contractions[i], one.lowering}});
        EXPECT_NEAR(std::sqrt(one.square), error_of(graph, rounded.graph, first),
                    0.02 * std::sqrt(one.square));
        all.emplace(contractions[i], one.lowering);
        sum += one.square;
      }
      const double together =
          error_of(graph, backends::with_roundings(graph, {}, all).graph, first);
      EXPECT_GT(together, 0.6 * std::sqrt(sum));
      EXPECT_LT(together, 1.6 * std::sqrt(sum));
    }
    // Without time for runs, the sizes of errors alone order the forms.
    const auto unmeasured =
        measure_form_errors(graph, contractions, samples->calibration, cpu(), {.threads = 1}, -1);
    ASSERT_TRUE(unmeasured.ok());
    for (const FormErrors& one : *unmeasured) {
      EXPECT_GT(one[OperandForm::kBF16].square, 0);
      EXPECT_GT(one[OperandForm::kI8].square, one[OperandForm::kBF16].square);
    }
  }
}

TEST(ErrorBudget, EstimatesAreCorrectedByMeasurements) {
  const ir::Graph graph = perceptron(16, 64);
  auto samples = make_samples(graph, {}, 3);
  ASSERT_TRUE(samples.ok());
  auto made = ErrorBudget::of(graph, *std::move(samples), 1e-2, FormsFrom::kExtraction, cpu(),
                              {.threads = 1}, 60);
  ASSERT_TRUE(made.ok());
  ErrorBudget& budget = **made;
  const ErrorBudget::Contraction known{{7, 1}, contractions_of(graph).front()};
  ASSERT_TRUE(*budget.learn(graph, {&known, 1}));
  EXPECT_FALSE(*budget.learn(graph, {&known, 1}));
  if (!has(OperandForm::kI8)) GTEST_SKIP() << "this processor has no such kernels";
  const double before = budget.square({7, 1}, OperandForm::kI8);
  EXPECT_GT(before, budget.square({7, 1}, OperandForm::kBF16));
  EXPECT_EQ(budget.square({7, 1}, OperandForm::kF32), 0);
  EXPECT_EQ(budget.square({8, 2}, OperandForm::kI8), before);  // the median of one
  // Twice the estimated error, and beyond the limit: later estimates allow for it.
  EXPECT_TRUE(budget.correct(0.01, 0.02));
  EXPECT_GT(budget.square({7, 1}, OperandForm::kI8), 4 * before);
  EXPECT_TRUE(budget.correct(0.01, 0.005));
  EXPECT_LT(budget.square({7, 1}, OperandForm::kI8), 2 * before);
  EXPECT_FALSE(budget.allows({.held_out = 0.011, .bound = 0.001}));
  EXPECT_FALSE(budget.allows({.held_out = 0.001, .bound = 0.011}));
  EXPECT_TRUE(budget.allows({.held_out = 0.01, .bound = 0.01}));
}

OptimizeOptions with_budget(double budget) {
  OptimizeOptions options;
  options.error_budget = budget;
  options.cost_db = ":memory:";
  options.threads = 1;
  options.profile_time = 3;
  options.measure_time = 0.05;
  options.allow_slower = true;  // the candidate of the budget is the result
  return options;
}

int lowered(const OptimizeReport::Precision& precision) {
  int count = 0;
  for (const auto& [form, kernels] : precision.kernels) count += form == "f32" ? 0 : kernels;
  return count;
}

// On samples that are given, half of which are held out; other samples of the same kind stay within
// twice the budget.
TEST(ErrorBudget, HoldsOnSamplesThatAreHeldOut) {
  if (!has(OperandForm::kI8)) GTEST_SKIP() << "this processor has no such kernels";
  base::Random random(21);
  for (const ir::Graph& graph : {perceptron(64, 512), convolutions()}) {
    const ir::TensorType type = graph.node(graph.inputs()[0]).type;
    std::vector<ir::GivenInputs> given;
    for (int i = 0; i < 4; ++i) given.push_back({{"x", Tensor::random(type, random)}});
    const std::vector<Sample> held_out{{given[1].at("x")}, {given[3].at("x")}};
    const std::vector<Sample> fresh{{Tensor::random(type, random)}};
    for (const double limit : {3e-2, 4e-3}) {
      OptimizeOptions options = with_budget(limit);
      options.samples = given;
      const auto result = optimize(graph, options);
      ASSERT_TRUE(result.ok()) << result.status().message();
      const OptimizeReport::Precision& precision = result->report.precision;
      EXPECT_EQ(precision.budget, limit);
      EXPECT_EQ(precision.calibration, 2U);
      EXPECT_EQ(precision.held_out, 2U);
      EXPECT_FALSE(precision.drawn);
      EXPECT_TRUE(precision.written);
      EXPECT_GT(lowered(precision), 0);
      EXPECT_LE(precision.measured, limit);
      EXPECT_LE(precision.bound, limit);
      EXPECT_TRUE(result->report.check.made && result->report.check.outputs.passed);
      EXPECT_NEAR(error_of(graph, result->graph, held_out), precision.measured,
                  0.05 * precision.measured);
      EXPECT_LE(error_of(graph, result->graph, fresh), 2 * limit);
    }
  }
}

TEST(ErrorBudget, IsF32WithoutRoomForLess) {
  const ir::Graph graph = perceptron(64, 256);
  const auto tight = optimize(graph, with_budget(1e-7));
  ASSERT_TRUE(tight.ok()) << tight.status().message();
  EXPECT_EQ(lowered(tight->report.precision), 0);
  EXPECT_TRUE(tight->report.precision.drawn);
  EXPECT_TRUE(tight->report.check.outputs.passed);
  OptimizeOptions none = with_budget(0);
  none.kernels_from = "egraph";
  const auto off = optimize(graph, none);
  ASSERT_TRUE(off.ok());
  EXPECT_EQ(off->report.precision.budget, 0);
  for (const ir::Node& node : off->graph.nodes()) {
    if (node.kind != ir::NodeKind::kOperator) continue;
    EXPECT_NE(node.op->name(), "cast");
    EXPECT_NE(node.op->name(), "quantize_linear");
  }
}

TEST(ErrorBudget, ComparisonsLowerEverythingOrOneLayerAfterTheOther) {
  if (!has(OperandForm::kI8)) GTEST_SKIP() << "this processor has no such kernels";
  const ir::Graph graph = perceptron(64, 512);
  for (const std::string form : {"bf16", "int8"}) {
    OptimizeOptions options = with_budget(1e-6);
    options.forms_from = form;
    const auto result = optimize(graph, options);
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(result->report.precision.kernels.at(form), 3);
    EXPECT_GT(result->report.precision.measured, 1e-6);
    EXPECT_FALSE(result->report.check.made);
  }
  OptimizeOptions options = with_budget(1e-2);
  options.forms_from = "layers";
  const auto result = optimize(graph, options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_LE(result->report.precision.measured, 1e-2);
}

TEST(ErrorBudget, RefusesWhatCannotBeCombined) {
  const ir::Graph graph = perceptron(4, 8);
  const auto code = [&](const auto& change) {
    OptimizeOptions options = with_budget(1e-2);
    change(options);
    return optimize(graph, options).status().code();
  };
  using O = OptimizeOptions;
  EXPECT_EQ(code([](O& o) { o.quick = true; }), base::StatusCode::kUsage);
  EXPECT_EQ(code([](O& o) { o.precision = "bf16"; }), base::StatusCode::kUsage);
  EXPECT_EQ(code([](O& o) { o.engine = "onnxruntime"; }), base::StatusCode::kUsage);
  EXPECT_EQ(code([](O& o) { o.limit_arena = 1000; }), base::StatusCode::kUsage);
  EXPECT_EQ(code([](O& o) { o.cost = "nodes"; }), base::StatusCode::kUsage);
  EXPECT_EQ(code([](O& o) {
              o.error_budget = 0;
              o.forms_from = "layers";
            }),
            base::StatusCode::kUsage);
  EXPECT_EQ(code([](O& o) {
              o.given_inputs = {{"x", Tensor::filled({DType::kF32, {4, 8}}, 1)}};
            }),
            base::StatusCode::kUsage);
}

}  // namespace
}  // namespace egret::driver
