// SPDX-License-Identifier: Apache-2.0
// A program that answers lines with lines, over its standard input and output.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace egret::base {

class ChildProcess {
 public:
  // Starts a program, which is looked for in PATH. Errors: unavailable if it cannot be started.
  static Result<std::unique_ptr<ChildProcess>> start(std::vector<std::string> command);

  // Closes the program's input and gives it a moment to end; then kills it and its children.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Sends a line; a newline is added. Errors: unavailable if the program has ended.
  Status send(std::string_view line);
  // The next line of the program, without its newline. Errors: unavailable if the program has
  // ended, with the last lines of its standard error; limit_hit after so many seconds, when a stop
  // is requested, and for a line beyond 16 MiB. The program is killed in the last three cases.
  Result<std::string> receive(double seconds);

 private:
  ChildProcess() = default;
  Status ended(std::string_view what);
  void kill();
  void drain_errors();

  std::string name_;
  int pid_ = -1;
  int input_ = -1;   // a socket: a write to a dead program raises no signal
  int output_ = -1;  // a pipe
  int errors_ = -1;  // a pipe
  std::string received_;
  std::string last_errors_;
};

}  // namespace egret::base
