// SPDX-License-Identifier: Apache-2.0
// Runs something in a process of its own and measures what it took, so that an attack that succeeds
// is a failed test and not a dead machine.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"

namespace egret::hostile {

struct ConfinedResult {
  bool finished = false;  // false: killed, crashed or aborted
  base::StatusCode code = base::StatusCode::kOk;
  std::string message;
  double seconds = 0;  // of processor time, which other work on the machine does not change
  double peak_megabytes = 0;
};

// The process is killed after a minute or at 2 GiB of memory; the test compares the figures with
// what it wants.
ConfinedResult run_confined(const std::function<base::Status()>& action);

}  // namespace egret::hostile
