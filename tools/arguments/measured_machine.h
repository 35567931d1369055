// SPDX-License-Identifier: Apache-2.0
// The machine "measured": this one, with the links that `egret costs profile --collectives` found.
#pragma once

#include <string>

#include "base/status.h"
#include "cost/database.h"
#include "parallel/machine/cluster.h"

namespace egret::tools {

inline constexpr const char* kMeasuredMachine = "measured";

// Replaces what the database had of this machine.
base::Status keep_measured_machine(cost::Database& database, const parallel::Cluster& machine);

// parallel::cluster_called(), and "measured" from the default database. Errors: also unavailable,
// where this machine has not been measured.
base::Result<parallel::Cluster> cluster_argument(const std::string& name, const std::string& mesh);

}  // namespace egret::tools
