// SPDX-License-Identifier: Apache-2.0
// A cluster as users name it.
#pragma once

#include <string>

#include "base/status.h"
#include "parallel/machine/cluster.h"

namespace egret::parallel {

// A preset (parallel/machine/cluster.h) or the path of a TOML file, with the mesh NAME=SIZE,...;
// an empty mesh: the cluster's own. Errors: usage for an unknown preset; those of reading and
// parsing.
base::Result<Cluster> cluster_called(const std::string& name, const std::string& mesh = "");

}  // namespace egret::parallel
