// SPDX-License-Identifier: Apache-2.0
// OutputCheck::agreement().
#include <algorithm>
#include <cmath>

#include "driver/measure/output_check.h"
#include "driver/measure/output_errors.h"

namespace egret::driver {
namespace {

// The original's values, but the result's where the original overflowed. Counts these.
ir::Tensor without_overflows(const ir::Tensor& reference, const ir::Tensor& original,
                             const ir::Tensor& result, OutputError& error) {
  ir::Tensor values = original;
  for (std::int64_t i = 0; i < original.elements(); ++i) {
    if (std::isfinite(original.f64_at(i)) || !std::isfinite(reference.f64_at(i))) continue;
    values.set_f64(i, result.f64_at(i));
    ++error.unstable;
  }
  return values;
}

}  // namespace

base::Result<CheckReport> OutputCheck::agreement(
    std::span<const std::vector<ir::Tensor>> original,
    std::span<const std::vector<ir::Tensor>> result) const {
  constexpr double kTimes = 2;
  CheckReport report;
  for (const OutputInfo& output : outputs_) report.outputs.push_back({.output = output.name});
  for (std::size_t s = 0; s < samples_.size(); ++s) {
    const Sample& sample = samples_[s];
    std::vector<OutputError> errors(outputs_.size());
    std::vector<ir::Tensor> expected;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      OutputError& error = errors[i];
      const ir::Tensor& got = result[s][i];
      error.output = outputs_[i].name;
      error.elements = got.elements();
      if (!ir::is_float(outputs_[i].type.dtype)) {
        expected.push_back(original[s][i]);
        compare_integers(sample.expected[i], sample.disturbed, i, expected[i], got, error);
        continue;
      }
      expected.push_back(without_overflows(sample.expected[i], original[s][i], got, error));
      if (magnitude(expected[i]) == 0) report.vacuous = error.output;
      error.bound = std::max(report.outputs[i].bound, kTimes * bound_of(sample, i));
      error.spread = own_spread(expected[i]);
      compare_reals(expected[i], got, error);
    }
    EGRET_RETURN_IF_ERROR(leave_out_unstable(sample, expected, result[s], errors));
    for (std::size_t i = 0; i < errors.size(); ++i) report.outputs[i].add(errors[i]);
  }
  report.settle();
  return report;
}

}  // namespace egret::driver
