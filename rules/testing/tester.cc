// SPDX-License-Identifier: Apache-2.0
#include "rules/testing/tester.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/stop.h"
#include "ir/evaluate/interpreter.h"
#include "rules/testing/counterexample.h"
#include "rules/testing/instance_stream.h"

namespace egret::rules {

using base::Random;
using ir::Tensor;

namespace {

constexpr double kTolerance = 1e-9;
constexpr double kRoundingTolerance = 3e-6;
constexpr std::size_t kMostKept = 64;
constexpr std::int64_t kMostRepeated = std::int64_t{1} << 25;  // elements of repeated instances
constexpr int kLeastChecks = 8;  // of a rule whose instances are few and large
constexpr std::uint64_t kSolvedStream = std::uint64_t{1} << 42;

std::int64_t elements_of(const Instance& instance) {
  std::int64_t all = 1;
  for (const auto& [slot, type] : instance.choice.variables) all += type.elements();
  return all;
}

// The distribution of the elements of one instance.
enum class Style : std::uint8_t { kSigned, kPositive, kSparse };

double draw_real(Style style, Random& random) {
  switch (style) {
    case Style::kSigned: return static_cast<double>(random.between(-16, 16)) / 8;
    case Style::kPositive: return static_cast<double>(random.between(1, 16)) / 8;
    case Style::kSparse:
      return random.chance(0.5) ? 0 : static_cast<double>(random.between(-4, 4)) / 2;
  }
  return 0;
}

// A number of the sign that is wanted, near the one drawn.
double with_sign(double value, ir::Sign sign) {
  if (sign == ir::Sign::kUnknown) return value;
  return value == 0 && sign == ir::Sign::kPositive ? 1 : std::abs(value);
}

Tensor draw_tensor(const ir::TensorType& type, std::optional<double> splat, ir::Sign sign,
                   Style style, Random& random) {
  if (splat) return Tensor::filled(type, *splat);
  Tensor tensor(type);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    double value = draw_real(style, random);
    if (type.dtype == ir::DType::kBool) {
      value = random.chance(0.5) ? 1 : 0;
    } else if (!ir::is_float(type.dtype)) {
      value = static_cast<double>(random.between(style == Style::kPositive ? 0 : -4, 4));
    }
    tensor.set_f64(i, with_sign(value, sign));
  }
  return tensor;
}

// Undefined elements on the left claim nothing. The tolerance is relative, with an absolute part
// near 0.
bool agree(double left, double right, double tolerance) {
  if (!std::isfinite(left)) return true;  // undefined on the left: nothing is claimed
  return left == right ||
         std::abs(left - right) <= tolerance * (1 + std::max(std::abs(left), std::abs(right)));
}

std::string counterexample(const Rule& rule, const Instance& instance,
                           std::span<const Tensor> inputs, const std::string& difference) {
  std::string text = "rule " + rule.name + "\n" + instance.text;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    text += "  " + instance.left.node(instance.left.inputs()[i]).name + " = " +
            to_string(inputs[i], 64) + "\n";
  }
  return text + difference;
}

}  // namespace

std::vector<Tensor> random_inputs(const Instance& instance, Random& random) {
  const auto style = static_cast<Style>(random.below(3));
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < instance.left.inputs().size(); ++i) {
    const ir::TensorType& type = instance.left.node(instance.left.inputs()[i]).type;
    inputs.push_back(draw_tensor(type, instance.splats[i], instance.signs[i], style, random));
  }
  return inputs;
}

// A failure of the left side makes the draw void; a failure of the right side alone refutes the
// rule.
Comparison compare(const Rule& rule, const Instance& instance, Random random,
                   KnownOperators& known) {
  using Outcome = Comparison::Outcome;
  const std::vector<Tensor> inputs = random_inputs(instance, random);
  Comparison result;
  ir::InterpretOptions options;
  options.memo = &known.plans;
  const auto left = ir::interpret(instance.left, inputs, options);
  if (!left.ok()) return result;
  const auto differ = [&](const std::string& text, Difference difference) {
    result.outcome = Outcome::kDifferent;
    result.counterexample = counterexample(rule, instance, inputs, text);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      difference.inputs.emplace_back(instance.left.node(instance.left.inputs()[i]).name, inputs[i]);
    result.difference = std::make_shared<const Difference>(std::move(difference));
    return result;
  };
  const auto right = ir::interpret(instance.right, inputs, options);
  if (!right.ok()) {
    result.right_fails = true;
    return differ("  the right side fails: " + right.status().message() + "\n", {});
  }
  const double tolerance = rule.has_tag("rounding") ? kRoundingTolerance : kTolerance;
  bool meaningful = false;
  for (std::size_t i = 0; i < left->size(); ++i) {
    const Tensor& a = (*left)[i];
    const Tensor& b = (*right)[i];
    if (a.elements() == 0) meaningful = true;
    for (std::int64_t k = 0; k < a.elements(); ++k) {
      meaningful |= std::isfinite(a.f64_at(k));
      result.zeros |= a.f64_at(k) == 0 || !std::isfinite(a.f64_at(k));
      if (agree(a.f64_at(k), b.f64_at(k), tolerance)) continue;
      const std::string& name = instance.left.outputs()[i].name;
      return differ("  left  " + name + " = " + to_string(a, 64) + "\n  right " + name + " = " +
                        to_string(b, 64) + "\n",
                    {.inputs = {}, .output = name, .left = a, .right = b});
    }
  }
  result.outcome = meaningful ? Outcome::kEqual : Outcome::kVoid;
  return result;
}

namespace {

TestReport test_rule(const Rule& rule, const TestOptions& options, KnownOperators& known,
                     Sizes sizes) {
  TestReport report;
  Instantiator instantiator(rule, known, sizes);
  const Random random(base::hash_combine(options.seed, content_hash(rule).low));
  const auto solved = options.solved != nullptr
                          ? options.solved(instantiator, random.split(kSolvedStream))
                          : nullptr;
  InstanceStream instances(instantiator, random, solved.get());
  const auto allowed = [&] {
    return static_cast<std::uint64_t>(report.checks + 20) *
           static_cast<std::uint64_t>(options.attempts_per_check);
  };
  std::vector<Instance> kept;  // to be repeated with other tensors where instances are few
  std::int64_t elements_left = kMostRepeated;
  for (std::size_t repeated = 0; report.checks < options.checks && !base::stop_requested();) {
    auto instance = instances.next(allowed());
    report.attempts = static_cast<int>(instances.attempts());
    if (!instance) {
      if (kept.empty() || elements_left <= 0) break;
      instance = kept[repeated++ % kept.size()];
      elements_left -= elements_of(*instance);
    } else if (kept.size() < kMostKept) {
      kept.push_back(*instance);
    }
    Random elements = random.split(instances.attempts() - 1).split(1 + instances.walked());
    if (repeated > 0) elements = elements.split(repeated);
    const Comparison comparison = compare(rule, *instance, elements, known);
    if (comparison.outcome == Comparison::Outcome::kVoid) continue;
    ++report.checks;
    if (comparison.outcome == Comparison::Outcome::kEqual) continue;
    report.verdict = TestReport::Verdict::kRefuted;
    report.right_fails = comparison.right_fails;
    Comparison smallest =
        shrunk(*instance, comparison, instantiator, elements, known, kMostElements);
    report.counterexample = std::move(smallest.counterexample);
    report.difference = std::move(smallest.difference);
    return report;
  }
  if (report.checks >= std::min(options.checks, kLeastChecks)) {
    report.verdict = TestReport::Verdict::kTested;
  } else if (report.checks > 0) {
    report.reason = "only " + std::to_string(report.checks) + " checks, of large tensors";
  } else if (instances.walked() > 0) {
    report.reason = "the source has no finite element in any instance that was found";
  } else {
    const InstanceSource::None none = solved != nullptr
                                          ? solved->none()
                                          : InstanceSource::None{.reason = "no instance was found"};
    report.is_vacuous = none.certain;
    report.reason = none.reason;
  }
  return report;
}

}  // namespace

TestReport test_rule(const Rule& rule, const TestOptions& options, KnownOperators& known) {
  TestReport report = test_rule(rule, options, known, Sizes::kPositive);
  if (!report.is_vacuous) return report;
  TestReport of_empty = test_rule(rule, options, known, Sizes::kWithZero);
  if (of_empty.checks == 0) return report;
  of_empty.of_empty = true;
  return of_empty;
}

std::string_view to_string(TestReport::Verdict verdict) {
  switch (verdict) {
    case TestReport::Verdict::kTested: return "tested";
    case TestReport::Verdict::kRefuted: return "refuted";
    case TestReport::Verdict::kUntestable: return "untestable";
  }
  return "?";
}

}  // namespace egret::rules
