// SPDX-License-Identifier: Apache-2.0
// From the program's arguments to a verb's run and an exit code. CLI11 splits the arguments
// (command_line.cc); what they mean, and the order of precedence, is base/options/option_set.h's.
#pragma once

#include <string>
#include <vector>

namespace egret::tools {

// Runs `egret ARGUMENTS` (without the program's name) and returns the exit code. Prints errors.
// Lets nothing escape: failed checks and foreign exceptions become code 1 with a located message.
int run_egret(const std::vector<std::string>& arguments);

}  // namespace egret::tools
