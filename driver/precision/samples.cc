// SPDX-License-Identifier: Apache-2.0
#include "driver/precision/samples.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <ranges>
#include <utility>

#include "base/random.h"
#include "ir/evaluate/input_draws.h"

namespace egret::driver {
namespace {

constexpr std::size_t kDrawnSamples = 8;

// Student's t that a mean of so many samples exceeds once in 20 times: few samples say little of
// how much samples differ.
double t_quantile(std::size_t samples) {
  // By degrees of freedom, from 1 on.
  constexpr std::array kFew = {6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860,
                               1.833, 1.812, 1.796, 1.782, 1.771, 1.761, 1.753};
  constexpr double kMany = 1.645;  // of the normal distribution
  if (samples < 2) return 0;       // nothing is known of their differences
  const std::size_t freedom = samples - 1;
  if (freedom <= kFew.size()) return kFew[freedom - 1];
  return kMany +
         (kFew.back() - kMany) * static_cast<double>(kFew.size()) / static_cast<double>(freedom);
}

// Of one output on one sample: the difference and the size of what is expected, squared norms for
// reals and counts of elements for others.
struct Deviation {
  double difference = 0, size = 0;
};

Deviation deviation(const ir::Tensor& expected, const ir::Tensor& got) {
  Deviation sums;
  const bool real = ir::is_float(expected.dtype());
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    if (!real) {
      sums.difference += expected.i64_at(i) == got.i64_at(i) ? 0 : 1;
      sums.size += 1;
      continue;
    }
    const double x = expected.f64_at(i), y = got.f64_at(i);
    if (!std::isfinite(x)) continue;
    if (!std::isfinite(y))
      return {.difference = std::numeric_limits<double>::infinity(), .size = 1};
    sums.difference += (x - y) * (x - y);
    sums.size += x * x;
  }
  return sums;
}

// The ratio of the sums over samples, with so many of its standard errors (linearized, as usual
// for ratios of means).
double ratio_of(std::span<const Deviation> samples, double standard_errors) {
  double difference = 0, size = 0;
  for (const Deviation& sample : samples) {
    difference += sample.difference;
    size += sample.size;
  }
  if (difference == 0) return 0;
  if (!(size > 0) || !std::isfinite(difference)) return std::numeric_limits<double>::infinity();
  const double ratio = difference / size;
  double squares = 0;
  for (const Deviation& sample : samples)
    squares += std::pow(sample.difference - ratio * sample.size, 2);
  const auto count = static_cast<double>(samples.size());
  const double of_mean = count > 1 ? std::sqrt(squares * count / (count - 1)) / size : 0;
  return ratio + standard_errors * of_mean;
}

double largest_error(std::span<const Sample> expected, std::span<const Sample> got,
                     double standard_errors) {
  double largest = 0;
  for (std::size_t k = 0; !expected.empty() && k < expected.front().size(); ++k) {
    std::vector<Deviation> samples;
    for (std::size_t s = 0; s < expected.size(); ++s)
      samples.push_back(deviation(expected[s][k], got[s][k]));
    const double ratio = ratio_of(samples, standard_errors);
    const bool real = ir::is_float(expected.front()[k].dtype());
    largest = std::max(largest, real ? std::sqrt(ratio) : ratio);
  }
  return largest;
}

}  // namespace

base::Result<Samples> make_samples(const ir::Graph& graph, std::span<const ir::GivenInputs> given,
                                   std::uint64_t seed) {
  std::vector<ir::GivenInputs> sets(given.begin(), given.end());
  std::erase_if(sets, [](const ir::GivenInputs& set) { return set.empty(); });
  Samples samples{.drawn = sets.empty()};
  if (samples.drawn) sets.resize(kDrawnSamples);
  if (sets.size() < 2) {
    return base::usage_error(
        "--error-budget needs at least two samples of each given input, one of them to be held "
        "out: repeat --input NAME=FILE");
  }
  for (const ir::GivenInputs& set : sets) {
    if (!std::ranges::equal(std::views::keys(set), std::views::keys(sets.front())))
      return base::usage_error("all samples (--input) need values of the same inputs");
  }
  base::Random random(seed);
  for (std::size_t i = 0; i < sets.size(); ++i) {
    EGRET_RETURN_IF_ERROR(ir::check_given(graph, sets[i]));
    Sample sample = ir::random_inputs(graph, random);
    ir::put_given(graph, sets[i], sample);
    (i % 2 == 0 ? samples.calibration : samples.held_out).push_back(std::move(sample));
  }
  return samples;
}

base::Result<std::vector<Sample>> outputs_on(backends::ExecutablePlan& plan,
                                             std::span<const Sample> samples) {
  std::vector<Sample> outputs;
  for (const Sample& sample : samples) {
    EGRET_ASSIGN_OR_RETURN(Sample one, plan.run(sample));
    outputs.push_back(std::move(one));
  }
  return outputs;
}

double relative_error(std::span<const Sample> expected, std::span<const Sample> got) {
  return largest_error(expected, got, 0);
}

double relative_error_bound(std::span<const Sample> expected, std::span<const Sample> got) {
  return largest_error(expected, got, t_quantile(expected.size()));
}

}  // namespace egret::driver
