// SPDX-License-Identifier: Apache-2.0
// A command of the shell, run for its exit code.
#pragma once

#include <string>

#include "base/status.h"

namespace egret::base {

// Runs it with /bin/sh, without input and output, in a process group of its own. Returns its exit
// code; 128 + the signal that ended it. Errors: unavailable if it cannot be started; limit_hit
// after so many seconds, and within a twentieth of a second when a stop is requested. The whole
// group is then killed.
Result<int> run_command(const std::string& command, double seconds);

// The text as one word of the shell.
std::string shell_quoted(const std::string& text);

}  // namespace egret::base
