// SPDX-License-Identifier: Apache-2.0
// The module egret._egret. Its names are for the package's own Python files, which are the surface.
#include <nanobind/nanobind.h>

#include "python/src/bindings.h"
#include "python/src/call.h"
#include "python/src/callbacks.h"
#include "python/src/models.h"

NB_MODULE(_egret, module) {
  using namespace egret::python;
  module.attr("version") = EGRET_VERSION;
  bind_errors(module);
  bind_models(module);
  bind_callbacks(module);
  bind_optimize(module);
  bind_session(module);
  bind_rules(module);
  bind_egraph(module);
  bind_plan(module);
  bind_plan_cluster(module);
  bind_plan_offload(module);
  bind_plan_pipeline(module);
  bind_simulate(module);
  bind_training(module);
}
