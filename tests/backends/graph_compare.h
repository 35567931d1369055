// SPDX-License-Identifier: Apache-2.0
// Comparing a backend with the interpreter.
#pragma once

#include "backends/backend.h"
#include "ir/graph.h"

namespace egret::backends {

// Runs the graph on random inputs of the seed on the backend (1 and 2 threads, and again
// without fusion) and on the f64 interpreter; reports differences beyond `tolerance`, relative to
// the larger of 1 and the largest value of the output, as test failures. Returns the report of the
// plan with one thread.
PlanReport expect_matches_reference(const ir::Graph& graph, std::uint64_t seed,
                                    double tolerance = 1e-5,
                                    const Backend& backend = *find_backend("cpu"));

}  // namespace egret::backends
