// SPDX-License-Identifier: Apache-2.0
// A cluster as users name it.
#pragma once

#include <string>

#include "base/status.h"
#include "parallel/machine/cluster.h"
#include "parallel/system/system.h"

namespace egret::parallel {

// Of --mesh, wherever it is. `egret plan` has the mesh of its machine by default, and `egret
// verify-plan` that of the ranks' models.
inline constexpr const char* kMeshHelp =
    "Mesh of devices as NAME=SIZE,... (default: the one that the other arguments give)";

// A machine file's rates as the planner sees them: products in TF32 where there is any, else f32;
// links of the ring with large tensors. An axis of the mesh has the links of the tier of its name,
// else of the innermost tier. An empty mesh is one domain of that tier, axis "gpus".
base::Result<Cluster> cluster_of(const System& system, const std::string& mesh = "");

// A preset (parallel/machine/cluster.h, parallel/system/system.h) or the path of a TOML file of
// either form, with the mesh NAME=SIZE,...; an empty mesh: the cluster's own. Errors: usage for an
// unknown preset; those of reading and parsing.
base::Result<Cluster> cluster_called(const std::string& name, const std::string& mesh = "");

}  // namespace egret::parallel
