// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "base/lack_of_memory.h"
#include "runtime/rank_watch.h"
#include "tools/console/signals.h"
#include "tools/frame/command_line.h"
#include "tools/frame/lack_of_memory.h"
#include "tools/frame/short_spins.h"

int main(int argc, char** argv) try {
  egret::tools::reserve_stack();
  egret::tools::shorten_spins(argv);
  egret::runtime::watch_rank([](const std::string& message) {
    std::cerr << "egret: error: " + message + "\n" << std::flush;
  });
  egret::tools::install_signal_handlers();
  const int code =
      egret::tools::run_egret(std::vector<std::string>(argv + (argc > 0), argv + argc));
  return egret::tools::exit_code_after_signals(code);
} catch (const std::exception& thrown) {
  if (!egret::base::is_lack_of_memory(thrown)) throw;
  return egret::tools::say_no_memory();
}
