// SPDX-License-Identifier: Apache-2.0
// What each file adds to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace egret::python {

void bind_optimize(nanobind::module_& module);
void bind_session(nanobind::module_& module);
void bind_rules(nanobind::module_& module);
void bind_egraph(nanobind::module_& module);
void bind_plan(nanobind::module_& module);
void bind_plan_cluster(nanobind::module_& module);
void bind_plan_offload(nanobind::module_& module);
void bind_plan_pipeline(nanobind::module_& module);
void bind_simulate(nanobind::module_& module);
void bind_training(nanobind::module_& module);

}  // namespace egret::python
