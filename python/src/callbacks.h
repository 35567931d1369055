// SPDX-License-Identifier: Apache-2.0
// Parts of the pipeline written in Python: extractors, cost models and schedulers. Each is called
// with the interpreter's lock taken. Its answer is checked as a built-in one's is. An exception
// ends the work, and the caller of egret.optimize() sees it as it was raised.
#pragma once

#include <nanobind/nanobind.h>

#include "driver/optimize.h"
#include "python/src/call.h"

namespace egret::python {

// callback(view, costs) -> node of each class, by number; below 0 for a class without one.
void use_extractor(Call& call, const nb::object& callback, driver::OptimizeOptions& how);
// callback(op, attrs, inputs, outputs) -> seconds.
void use_cost_model(Call& call, const nb::object& callback, driver::OptimizeOptions& how);
// An object with start(names), match_limit(iteration, rule), accept(iteration, rule, exceeded) and
// may_stop(iteration).
void use_scheduler(Call& call, const nb::object& scheduler, driver::OptimizeOptions& how);

void bind_callbacks(nb::module_& module);

}  // namespace egret::python
