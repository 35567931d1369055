// SPDX-License-Identifier: Apache-2.0
// `mpirun -n 4 egret costs profile --collectives`: the links between the ranks at hand.
#pragma once

#include <string>

#include "base/options/option_table.h"
#include "base/status.h"
#include "driver/measure/machine_fingerprint.h"
#include "tools/console/console.h"
#include "tools/console/exit_code.h"

namespace egret::tools {

struct CollectiveOptions {
  bool collectives = false;
  std::string output;
  std::int64_t largest = std::int64_t{1} << 26;
  std::int64_t ranks_per_host = 0;
  double limit_exchange = 60;
  std::string exchange = "auto";

  static const base::OptionTable<CollectiveOptions>& table();
};

// Measures, fits, and keeps the machine in the database at DATABASE (empty: the default). With the
// backend cuda, collectives are those of NCCL between GPUs, where each rank has one.
base::Result<ExitCode> profile_collectives(const CollectiveOptions& options,
                                           const driver::Execution& execution,
                                           const std::string& database, Console& console);

}  // namespace egret::tools
