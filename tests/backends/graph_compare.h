// SPDX-License-Identifier: Apache-2.0
// Comparing a backend with the interpreter.
#pragma once

#include "backends/backend.h"
#include "ir/graph/graph.h"

namespace egret::backends {

// Runs the graph on random inputs of the seed on the backend (1 and 2 threads, and again
// without fusion) and on the f64 interpreter; reports differences beyond `tolerance`, relative to
// the larger of 1 and the largest value of the output, as test failures. Returns the report of the
// plan with one thread.
PlanReport expect_matches_reference(const ir::Graph& graph, std::uint64_t seed,
                                    double tolerance = 1e-5,
                                    const Backend& backend = *find_backend("cpu"));

// Between elements of two tensors of one shape; infinite where one is not a number.
double largest_difference(const ir::Tensor& a, const ir::Tensor& b);

// The largest error of three runs (directly, and as a device records it) on random inputs, relative
// to the largest value of that output of the f64 interpreter; infinite, with a test failure, where
// it cannot be run. `report`: the plan's, before it ran.
double relative_error(const ir::Graph& graph, const CompileOptions& options, const Backend& backend,
                      PlanReport* report = nullptr);

}  // namespace egret::backends
