// SPDX-License-Identifier: Apache-2.0
// Samples of a model's inputs: some to calibrate on, others held out to measure the error on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backends/backend.h"
#include "base/status.h"
#include "ir/core/tensor.h"
#include "ir/evaluate/given_inputs.h"
#include "ir/graph/graph.h"

namespace egret::driver {

using Sample = std::vector<ir::Tensor>;  // one tensor for each of the graph's inputs

struct Samples {
  std::vector<Sample> calibration{};
  std::vector<Sample> held_out{};
  bool drawn = false;  // no input was given

  std::size_t size() const { return calibration.size() + held_out.size(); }
};

// Every second set of given inputs is held out. Inputs that are not given are drawn from the seed;
// where none is given, so are eight samples. Errors: usage_error for a single set, of which none
// could be held out, and for sets of different inputs; bad_input for inputs that the graph does not
// have.
base::Result<Samples> make_samples(const ir::Graph& graph, std::span<const ir::GivenInputs> given,
                                   std::uint64_t seed);

// The outputs of a plan on each sample.
base::Result<std::vector<Sample>> outputs_on(backends::ExecutablePlan& plan,
                                             std::span<const Sample> samples);

// The largest error of an output over all samples: of reals the Euclidean norm of the difference
// over the norm of the expected values, of others the share of elements that differ. Infinite where
// a finite value became one that is not.
double relative_error(std::span<const Sample> expected, std::span<const Sample> got);
// The root of an upper limit of its square on all samples of the kind, at a confidence of 95 % by
// Student's t. Of a single sample, its own error.
double relative_error_bound(std::span<const Sample> expected, std::span<const Sample> got);

}  // namespace egret::driver
