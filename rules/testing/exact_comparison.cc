// SPDX-License-Identifier: Apache-2.0
#include "rules/testing/exact_comparison.h"

#include "ir/evaluate/exact.h"
#include "rules/testing/tester.h"

namespace egret::rules {
namespace {

using ir::ExactTensor;

constexpr std::uint64_t kKey = 1;
constexpr std::uint64_t kOtherKey = 2;

// The values depend on a random function if another key changes them.
bool depends_on_key(const ir::Graph& graph, std::span<const ExactTensor> inputs,
                    const std::vector<ExactTensor>& values) {
  const auto others = ir::interpret_exact(graph, inputs, kOtherKey);
  return !others.ok() || *others != values;
}

}  // namespace

ExactOutcome compare_exactly(const Instance& instance, base::Random random) {
  std::vector<ExactTensor> inputs;
  for (const ir::Tensor& tensor : random_inputs(instance, random))
    inputs.push_back(ExactTensor::of(tensor));
  const auto left = ir::interpret_exact(instance.left, inputs, kKey);
  if (!left.ok()) return ExactOutcome::kVoid;
  const auto right = ir::interpret_exact(instance.right, inputs, kKey);
  if (right.ok() && *left == *right) return ExactOutcome::kEqual;
  // A right side with an infinite constant has no exact value. Any other failure, such as division
  // by 0, is wrong.
  if (!right.ok() && right.status().code() == base::StatusCode::kUnsupported)
    return ExactOutcome::kVoid;
  const bool functions = depends_on_key(instance.left, inputs, *left) ||
                         (right.ok() && depends_on_key(instance.right, inputs, *right));
  return functions ? ExactOutcome::kFunctions : ExactOutcome::kDifferent;
}

}  // namespace egret::rules
