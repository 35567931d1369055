// SPDX-License-Identifier: Apache-2.0
// The kernels of a profiled plan as people and programs read them: times beside what was computed
// and moved.
#pragma once

#include <string>
#include <vector>

#include "backends/backend.h"
#include "base/formats/json.h"
#include "cost/model.h"
#include "ir/nest/work.h"

namespace egret::tools {

// A row a kernel: mean time, arithmetic and traffic a second, and the share of the roofline, which
// is the least time that the work takes at `rates` over the time it took. `works` is one a kernel
// (backends/timing/kernel_work.h). Says so where a kernel beats what rates allow.
std::string kernel_table(const backends::PlanReport& report, const std::vector<ir::Work>& works,
                         const cost::Rates& rates);
// The same as a list of objects.
base::Json kernel_list(const backends::PlanReport& report, const std::vector<ir::Work>& works,
                       const cost::Rates& rates);

// The last run as a trace in the format that chrome://tracing and Perfetto read (Trace Event
// Format, complete events): an event a kernel, with its nodes, bytes, and rates in its arguments.
base::Json chrome_trace(const backends::PlanReport& report, const std::vector<ir::Work>& works);

}  // namespace egret::tools
