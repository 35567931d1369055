// SPDX-License-Identifier: Apache-2.0
#include "driver/measure/close_check.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/random.h"
#include "driver/measure/output_errors.h"
#include "ir/evaluate/input_draws.h"

namespace egret::driver {
namespace {

// The largest difference, if all elements agree within `tolerance` times the largest one, integers
// exactly. nullopt: they do not, or nothing but zeros and non-finite values can be compared.
std::optional<double> close_difference(const ir::Tensor& a, const ir::Tensor& b, double tolerance) {
  if (!(a.type() == b.type()) || a.elements() == 0) return std::nullopt;
  const bool real = ir::is_float(a.dtype());
  double largest = 0;
  double difference = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    const double x = a.f64_at(i);
    const double y = b.f64_at(i);
    if (!std::isfinite(x) || !std::isfinite(y)) return std::nullopt;
    largest = std::max(largest, std::abs(x));
    difference = std::max(difference, std::abs(x - y));
  }
  const bool close = real ? difference <= tolerance * largest && largest > 0 : difference == 0;
  return close ? std::optional(difference) : std::nullopt;
}

}  // namespace

// Nothing where an output is not finite, or differs by more than usual rounding: the thorough check
// then decides.
std::optional<CheckReport> agree_closely(const ir::Graph& original,
                                         const std::vector<ir::Tensor>& expected,
                                         const std::vector<ir::Tensor>& got,
                                         const CheckOptions& how) {
  CheckReport report;
  report.passed = true;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const ir::DType dtype = expected[i].dtype();
    const bool few_digits = dtype == ir::DType::kF16 || dtype == ir::DType::kBF16;
    const double tolerance = few_digits ? 4 * roundoff(dtype) : kCloseUnits * how.roundoff;
    const auto difference = close_difference(expected[i], got[i], tolerance);
    if (!difference) return std::nullopt;
    const double largest = magnitude(expected[i]);
    report.outputs.push_back({.output = original.outputs()[i].name,
                              .max_error = *difference,
                              .bound = tolerance * largest,
                              .elements = expected[i].elements()});
    if (*difference >= report.max_error) {
      report.max_error = *difference;
      report.bound = tolerance * largest;
    }
  }
  return report;
}

base::Result<std::optional<CheckReport>> compare_closely(const ir::Graph& original,
                                                         backends::ExecutablePlan& before,
                                                         backends::ExecutablePlan& after,
                                                         const CheckOptions& how) {
  base::Random random(how.seed);
  std::vector<ir::Tensor> inputs = ir::random_inputs(original, random);
  ir::put_given(original, how.given, inputs);
  EGRET_ASSIGN_OR_RETURN(const std::vector<ir::Tensor> expected, before.run(inputs));
  EGRET_ASSIGN_OR_RETURN(const std::vector<ir::Tensor> got, after.run(inputs));
  return agree_closely(original, expected, got, how);
}

}  // namespace egret::driver
