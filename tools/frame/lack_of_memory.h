// SPDX-License-Identifier: Apache-2.0
// The end of a program that lacks memory: it says so, with exit code 5. Nothing here allocates.
//
// Allocation throws std::bad_alloc, which the frame of a verb catches (tools/frame/command_line.h).
// Two cases never come that far and are met here. Before main() begins, libraries initialize
// themselves, and one that gets no memory aborts the program. An exception that no frame may catch,
// of a destructor or of a thread, ends it through std::terminate().
#pragma once

#include <string_view>

namespace egret::tools {

inline constexpr std::string_view kNoMemory =
    "not enough memory; each file is as it was, or complete. Use a smaller model or fewer "
    "--threads, or lower --limit-memory or --limit-nodes if the verb has them";

// Prints the message on standard error, and with `json` the document of a failure on standard
// output. Returns the exit code.
int say_no_memory(bool json = false);

// Reserves what is needed of the main thread's stack, which otherwise grows when it is used, and
// ends the program with a signal where it cannot.
void reserve_stack();

}  // namespace egret::tools
