// SPDX-License-Identifier: Apache-2.0
#include "driver/precision/samples.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>
#include <utility>

#include "base/random.h"
#include "ir/evaluate/input_draws.h"

namespace egret::driver {
namespace {

constexpr std::size_t kDrawnSamples = 8;

double error_of_output(std::span<const Sample> expected, std::span<const Sample> got,
                       std::size_t output) {
  double difference = 0, size = 0;
  for (std::size_t s = 0; s < expected.size(); ++s) {
    const ir::Tensor& a = expected[s][output];
    const ir::Tensor& b = got[s][output];
    const bool real = ir::is_float(a.dtype());
    for (std::int64_t i = 0; i < a.elements(); ++i) {
      if (!real) {
        difference += a.i64_at(i) == b.i64_at(i) ? 0 : 1;
        size += 1;
        continue;
      }
      const double x = a.f64_at(i), y = b.f64_at(i);
      if (!std::isfinite(x)) continue;
      if (!std::isfinite(y)) return std::numeric_limits<double>::infinity();
      difference += (x - y) * (x - y);
      size += x * x;
    }
    if (!real && s + 1 == expected.size()) return size > 0 ? difference / size : 0;
  }
  if (difference == 0) return 0;
  return size > 0 ? std::sqrt(difference / size) : std::numeric_limits<double>::infinity();
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
  double largest = 0;
  for (std::size_t k = 0; !expected.empty() && k < expected.front().size(); ++k)
    largest = std::max(largest, error_of_output(expected, got, k));
  return largest;
}

}  // namespace egret::driver
