// SPDX-License-Identifier: Apache-2.0
// The result of optimize() as a page (driver/report/page.h): what was gained and where, the graph
// before and after, rules with their proofs, growth of the e-graph, the race, the check, and the
// machine.
#pragma once

#include <string>

#include "driver/optimize.h"
#include "driver/report/page.h"
#include "ir/graph/graph.h"

namespace egret::driver {

struct PageOrigin {
  std::string model;    // its file's name
  std::string version;  // of Egret
};

// `program` is what optimize() was given. Without OptimizeReport::kernels (kernels_of()), the
// waterfall is of the operators' costs.
ReportPage optimize_page(const ir::Graph& program, const OptimizeResult& result,
                         const PageOrigin& origin);

}  // namespace egret::driver
