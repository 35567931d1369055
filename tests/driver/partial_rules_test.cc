// SPDX-License-Identifier: Apache-2.0
// Convolutions as other computations (rules/data/partial.rules), run by the CPU backend.
#include <gtest/gtest.h>

#include <cmath>

#include "backends/backend.h"
#include "ir/evaluate/interpreter.h"
#include "rules/tensors/rule_set.h"
#include "rules/testing/instantiation.h"
#include "rules/testing/tester.h"
#include "tests/paths.h"

namespace egret::driver {
namespace {

// The right side on the CPU backend against the left side's definition.
void expect_right(const rules::Rule& rule, const rules::Instance& instance, base::Random random) {
  const auto inputs = rules::random_inputs(instance, random);
  const auto expected = ir::interpret(instance.left, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  const auto plan = backends::find_backend("cpu")->compile(instance.right, {.threads = 2});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const auto actual = (*plan)->run(inputs);
  ASSERT_TRUE(actual.ok()) << actual.status().message();
  const ir::Tensor& a = expected->front();
  const ir::Tensor& b = actual->front();
  ASSERT_EQ(a.elements(), b.elements());
  for (std::int64_t i = 0; i < a.elements(); ++i)
    ASSERT_NEAR(a.f64_at(i), b.f64_at(i), 1e-4) << rule.name << "\n" << instance.text;
}

TEST(PartialRules, RunOnTheCpuBackendWithCorrectResults) {
  const auto set = rules::select_rules(std::string(EGRET_SOURCE_DIR) + "/rules/data/partial.rules");
  ASSERT_TRUE(set.ok()) << set.status().message();
  EXPECT_GE(set->rules.size(), 8U);
  for (const rules::Rule& rule : set->rules) {
    rules::KnownOperators known;
    rules::Instantiator instantiator(rule, known);
    int runs = 0;
    for (std::uint64_t i = 0; i < 30'000 && runs < 25; ++i) {
      const base::Random random = base::Random(7).split(i);
      const auto instance = instantiator.attempt(random);
      if (!instance) continue;
      const ir::DType type = instance->right.node(instance->right.inputs()[0]).type.dtype;
      if (type != ir::DType::kF32) continue;
      ++runs;
      expect_right(rule, *instance, random.split(1));
      if (HasFatalFailure()) return;
    }
    EXPECT_EQ(runs, 25) << rule.name;
  }
}

}  // namespace
}  // namespace egret::driver
