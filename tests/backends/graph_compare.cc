// SPDX-License-Identifier: Apache-2.0
#include "tests/backends/graph_compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "backends/timing/measure.h"
#include "ir/evaluate/interpreter.h"

namespace egret::backends {
namespace {

void expect_close(const ir::Tensor& actual, const ir::Tensor& expected, double tolerance,
                  const std::string& place) {
  ASSERT_EQ(to_string(actual.type()).substr(3), to_string(expected.type()).substr(3)) << place;
  double scale = 1;
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    const double value = std::abs(expected.f64_at(i));
    if (std::isfinite(value)) scale = std::max(scale, value);
  }
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    const double a = actual.f64_at(i);
    const double e = expected.f64_at(i);
    const bool close = std::isfinite(e) ? std::abs(a - e) <= tolerance * scale
                                        : (std::isnan(e) ? std::isnan(a) : a == e);
    ASSERT_TRUE(close) << place << ": element " << i << " is " << a << ", expected " << e;
  }
}

// A plan of a graph that was handed over computes the same from the same weights: by the same
// kernels the same bits. Plans that choose kernels by their times may choose others. On the CPU,
// this plan runs in guarded memory: no kernel may touch bytes around its operands.
void expect_same_when_consumed(const ir::Graph& graph, const CompileOptions& options,
                               std::span<const ir::Tensor> inputs, const ExecutablePlan& plan,
                               const std::vector<ir::Tensor>& expected, double tolerance,
                               const Backend& backend, const std::string& place) {
  const bool exact = backend.name() != "cuda";
  CompileOptions guarded = options;
  guarded.guarded_memory = backend.name() == "cpu";
  const auto consumed = backend.compile_consuming(graph, guarded);
  ASSERT_TRUE(consumed.ok()) << place << ": " << consumed.status().message();
  if (exact) {
    EXPECT_EQ((*consumed)->report().weights_bytes, plan.report().weights_bytes) << place;
    EXPECT_EQ((*consumed)->report().kernels.size(), plan.report().kernels.size()) << place;
  }
  const auto actual = (*consumed)->run(inputs);
  ASSERT_TRUE(actual.ok()) << place << ": " << actual.status().message();
  for (std::size_t k = 0; k < expected.size(); ++k) {
    if (exact) {
      EXPECT_TRUE(std::ranges::equal((*actual)[k].data(), expected[k].data()))
          << place << ", output " << k;
    } else {
      expect_close((*actual)[k], expected[k], 2 * tolerance, place + ", consumed");
    }
  }
}

}  // namespace

double largest_difference(const ir::Tensor& a, const ir::Tensor& b) {
  double largest = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    const double difference = std::abs(a.f64_at(i) - b.f64_at(i));
    largest = std::isnan(difference) ? HUGE_VAL : std::max(largest, difference);
  }
  return largest;
}

double relative_error(const ir::Graph& graph, const CompileOptions& options, const Backend& backend,
                      PlanReport* report) {
  const auto plan = backend.compile(graph, options);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  if (!plan.ok()) return HUGE_VAL;
  if (report != nullptr) *report = (*plan)->report();
  const auto inputs = random_inputs(**plan, base::Random(1));
  const auto expected = ir::interpret(graph, inputs);
  EXPECT_TRUE(expected.ok()) << expected.status().message();
  if (!expected.ok()) return HUGE_VAL;
  double worst = 0;
  for (int run = 0; run < 3; ++run) {
    const auto actual = (*plan)->run(inputs);
    EXPECT_TRUE(actual.ok()) << actual.status().message();
    if (!actual.ok()) return HUGE_VAL;
    for (std::size_t k = 0; k < expected->size(); ++k) {
      double largest = 0;
      for (std::int64_t i = 0; i < (*expected)[k].elements(); ++i)
        largest = std::max(largest, std::abs((*expected)[k].f64_at(i)));
      const double error = largest_difference((*actual)[k], (*expected)[k]);
      if (error > 0) worst = std::max(worst, error / largest);
    }
  }
  return worst;
}

PlanReport expect_matches_reference(const ir::Graph& graph, std::uint64_t seed, double tolerance,
                                    const Backend& backend) {
  PlanReport report;
  const CompileOptions variants[] = {{.threads = 1},
                                     {.threads = 2},
                                     {.threads = 1, .fuse = false},
                                     {.threads = 1, .blocked = false},
                                     {.threads = 1, .limit_arena = 1}};
  std::vector<ir::Tensor> expected;
  for (const CompileOptions& options : variants) {
    const std::string place = "threads " + std::to_string(options.threads) +
                              (options.fuse ? "" : ", no fusion") +
                              (options.blocked ? "" : ", no blocks") +
                              (options.limit_arena == 0 ? "" : ", little memory");
    auto plan = backend.compile(graph, options);
    EXPECT_TRUE(plan.ok()) << place << ": " << plan.status().message();
    if (!plan.ok()) return report;
    const auto inputs = random_inputs(**plan, base::Random(seed));
    if (expected.empty()) {
      auto values = ir::interpret(graph, inputs);
      EXPECT_TRUE(values.ok()) << values.status().message();
      if (!values.ok()) return report;
      expected = *std::move(values);
      report = (*plan)->report();
    }
    // Twice: the second run meets an arena that is not zero.
    for (int run = 0; run < 2; ++run) {
      const auto actual = (*plan)->run(inputs);
      EXPECT_TRUE(actual.ok()) << place << ": " << actual.status().message();
      if (!actual.ok()) return report;
      for (std::size_t k = 0; k < expected.size(); ++k)
        expect_close((*actual)[k], expected[k], tolerance, place + ", output " + std::to_string(k));
      if (run == 0)
        expect_same_when_consumed(graph, options, inputs, **plan, *actual, tolerance, backend,
                                  place);
      if (::testing::Test::HasFatalFailure()) return report;
    }
  }
  return report;
}

}  // namespace egret::backends
