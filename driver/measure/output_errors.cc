// SPDX-License-Identifier: Apache-2.0
#include "driver/measure/output_errors.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>

namespace egret::driver {
namespace {

double distance(double expected, double got) {
  if (std::isnan(expected) || std::isnan(got)) {
    return std::isnan(expected) && std::isnan(got) ? 0 : std::numeric_limits<double>::infinity();
  }
  return expected == got ? 0 : std::abs(expected - got);
}

double badness(const OutputError& error) {
  if (error.max_error == 0) return 0;
  return error.bound > 0 ? error.max_error / error.bound : std::numeric_limits<double>::infinity();
}

}  // namespace

void OutputError::add(const OutputError& sample) {
  max_error = std::max(max_error, sample.max_error);
  bound = std::max(bound, sample.bound);
  elements += sample.elements;
  wrong += sample.wrong;
  unstable += sample.unstable;
  overflowed += sample.overflowed;
  original_overflowed += sample.original_overflowed;
  left_out += sample.left_out;
  spread = std::max(spread, sample.spread);
}

bool CheckReport::only_original_overflows() const {
  return std::ranges::all_of(outputs,
                             [](const OutputError& e) { return e.wrong <= e.wrong_in_original(); });
}

void CheckReport::settle() {
  passed = std::ranges::all_of(outputs, [](const OutputError& e) { return e.wrong == 0; });
  not_told_apart.clear();
  for (const OutputError& error : outputs) {
    if (!error.is_told_apart()) not_told_apart.push_back(error.output);
  }
  if (outputs.empty()) return;
  const auto worst = std::ranges::max_element(outputs, {}, badness);
  max_error = worst->max_error;
  bound = worst->bound;
}

double spread(const ir::Tensor& a, const ir::Tensor& b) {
  double largest = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    const double difference = std::abs(a.f64_at(i) - b.f64_at(i));
    if (std::isfinite(difference)) largest = std::max(largest, difference);
  }
  return largest;
}

double roundoff(ir::DType type) {
  switch (type) {
    case ir::DType::kF16: return 0x1p-11;
    case ir::DType::kBF16: return 0x1p-8;
    default: return 0x1p-24;
  }
}

double magnitude(const ir::Tensor& a) {
  double largest = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    if (std::isfinite(a.f64_at(i))) largest = std::max(largest, std::abs(a.f64_at(i)));
  }
  return largest;
}

double own_spread(const ir::Tensor& a) {
  double count = 0;
  double mean = 0;
  double squares = 0;  // of deviations from the mean so far (Welford's algorithm)
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    const double value = a.f64_at(i);
    if (!std::isfinite(value)) continue;
    const double deviation = value - mean;
    mean += deviation / ++count;
    squares += deviation * (value - mean);
  }
  return squares > 0 ? std::sqrt(squares / count) : std::abs(mean);
}

// Where no element of an output is finite, the model overflows before it. A kernel may then
// subtract infinities (Winograd's convolutions do), so NaN and an infinity are not told apart.
void compare_reals(const ir::Tensor& expected, const ir::Tensor& got, OutputError& error) {
  const auto elements = std::views::iota(std::int64_t{0}, expected.elements());
  const bool shows_nothing = std::ranges::none_of(
      elements, [&](std::int64_t i) { return std::isfinite(expected.f64_at(i)); });
  for (const std::int64_t i : elements) {
    if (shows_nothing && !std::isfinite(got.f64_at(i))) continue;
    const double difference = distance(expected.f64_at(i), got.f64_at(i));
    error.max_error = std::max(error.max_error, difference);
    if (difference > error.bound) ++error.wrong;
  }
}

Unexplained::Unexplained(const ir::Tensor& reference, const ir::Tensor& expected,
                         const ir::Tensor& got, double bound)
    : reference_(reference), expected_(expected), got_(got), bound_(bound) {
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    if (difference(i) > bound_) elements_.push_back(i);
  }
}

double Unexplained::difference(std::int64_t i) const {
  return distance(expected_.f64_at(i), got_.f64_at(i));
}

std::int64_t Unexplained::explain_by(const ir::Tensor& moved, bool anywhere) {
  const double largest = anywhere ? spread(reference_, moved) : 0;
  return static_cast<std::int64_t>(std::erase_if(elements_, [&](std::int64_t i) {
    const double move = std::max(largest, distance(reference_.f64_at(i), moved.f64_at(i)));
    return std::isfinite(move) && difference(i) <= bound_ + move;
  }));
}

double Unexplained::largest() const {
  double largest = 0;
  for (std::int64_t i = 0; i < expected_.elements(); ++i) {
    if (difference(i) <= bound_) largest = std::max(largest, difference(i));
  }
  for (const std::int64_t i : elements_) largest = std::max(largest, difference(i));
  return largest;
}

void compare_integers(const ir::Tensor& reference, const Runs& disturbed, std::size_t output,
                      const ir::Tensor& expected, const ir::Tensor& got, OutputError& error) {
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    if (expected.i64_at(i) == got.i64_at(i)) continue;
    const bool unstable = std::ranges::any_of(
        disturbed, [&](const auto& run) { return run[output].i64_at(i) != reference.i64_at(i); });
    if (unstable) {
      ++error.unstable;
      continue;
    }
    ++error.wrong;
    error.max_error = std::max(error.max_error, std::abs(static_cast<double>(expected.i64_at(i)) -
                                                         static_cast<double>(got.i64_at(i))));
  }
}

}  // namespace egret::driver
