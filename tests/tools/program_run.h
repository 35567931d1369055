// SPDX-License-Identifier: Apache-2.0
// Runs `egret` as a user does: a process with its own streams, environment and exit code.
#pragma once

#include <string>

namespace egret::tools {

struct ProgramRun {
  int code = -1;  // exit code, or 128 + signal
  std::string out;
  std::string err;
};

// WORDS are handed to a shell after the program's path; ENVIRONMENT ("A=1 B=2") comes before it.
// The user's own configuration is hidden.
ProgramRun run_program(const std::string& words, const std::string& environment = "");

// A fresh folder for this test, below the test's temporary folder.
std::string fresh_folder();

}  // namespace egret::tools
