// SPDX-License-Identifier: Apache-2.0
// egg 0.11's own tests (tests/math.rs, lambda.rs, prop.rs, simple.rs) and its scale runs as
// workloads, with the same start terms, goals and limits. egg's node limit counts keys of its
// hash-cons (Workload::max_keys).
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "egraph/workloads/workload.h"

namespace egret::egraph::workloads {

// Returns the test of egg's name, run to its limits, or nothing if egg has no such test.
std::optional<Workload> egg_test(std::string_view name);

// Returns a scale run. Its name is "scale-all-rat" or "scale-bench7-rat", then "-backoff" for egg's
// default scheduler, then the limit, "-100k" or "-1m".
std::optional<Workload> scale_run(std::string_view name);

// The start terms of egg's e-matching benchmark of its mathematics, which the scale runs and
// egglog's microbenchmark share, and those of its lambda calculus.
const std::vector<std::string_view>& math_bench_terms();
const std::vector<std::string_view>& lambda_bench_terms();

}  // namespace egret::egraph::workloads
