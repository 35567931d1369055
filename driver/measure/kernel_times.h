// SPDX-License-Identifier: Apache-2.0
// The times of a plan's kernels one by one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "base/status.h"
#include "ir/evaluate/given_inputs.h"
#include "ir/graph/graph.h"

namespace egret::driver {

struct KernelTime {
  std::string name;  // of the kernel's family, or of the operator
  std::string implementation{};
  std::vector<std::string> nodes{};  // labels of the nodes that it computes
  double seconds = 0;                // of one run
};

// Compiles the graph with a clock around each kernel and runs it: at least ten times and a third of
// a second, or for two seconds. Errors: those of the plan; unsupported where the backend has no
// clock for kernels.
base::Result<std::vector<KernelTime>> time_kernels(const backends::Backend& backend,
                                                   const ir::Graph& graph,
                                                   backends::CompileOptions options,
                                                   const ir::GivenInputs& given);

// The times of the parts of CompileOptions::division (empty: all is the rest) and then of the
// reorders of CompileOptions::layouts: medians over runs of the whole graph, as a race runs it, for
// at least `least_seconds` and ten times, or two seconds. `rest` is the rest of a run: copies of
// outputs, and what passes between kernels.
//
// `whole` is the median of the runs themselves. Where other processes run, each run is disturbed at
// some kernel, and each kernel in few runs: the sum of medians is then less than the whole. The sum
// compares programs that were measured at different times; the whole is what a clock would show.
struct PartTimes {
  std::vector<double> parts{};
  double rest = 0;
  double whole = 0;
  std::int64_t runs = 0;
};

// Where a backend has no clock for kernels, all of a run is the rest. Errors: those of the plan;
// limit_hit where a stop was requested.
base::Result<PartTimes> time_parts(const backends::Backend& backend, const ir::Graph& graph,
                                   backends::CompileOptions options, double least_seconds = 0.3);

}  // namespace egret::driver
