// SPDX-License-Identifier: Apache-2.0
// A planned pipeline for people: the answer first.
#pragma once

#include <string>

#include "parallel/machine/cluster.h"
#include "parallel/pipeline_plan/pipeline_plan.h"

namespace egret::driver {

// MEMORY: bytes of a device; 0: not limited.
std::string pipeline_plan_text(const parallel::PipelinePlan& plan, const parallel::Cluster& machine,
                               double memory);

}  // namespace egret::driver
