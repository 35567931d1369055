// SPDX-License-Identifier: Apache-2.0
#include "runtime/rank_watch.h"
#include "tools/console/signals.h"
#include "tools/frame/command_line.h"

int main(int argc, char** argv) {
  egret::tools::watch_rank();
  egret::tools::install_signal_handlers();
  const int code =
      egret::tools::run_egret(std::vector<std::string>(argv + (argc > 0), argv + argc));
  return egret::tools::exit_code_after_signals(code);
}
