// SPDX-License-Identifier: Apache-2.0
#include "tools/frame/short_spins.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <thread>

namespace egret::tools {
namespace {

constexpr const char* kSpins = "GOMP_SPINCOUNT";
constexpr const char* kRestarted = "EGRET_RESTARTED";
// Starting again takes about 6 ms, which only runs of models are worth.
constexpr std::array<std::string_view, 6> kVerbs = {"bench",    "compare", "costs",
                                                    "optimize", "run",     "train-step"};

bool runs_models(char** argv) {
  if (argv[0] == nullptr || argv[1] == nullptr) return false;
  if (std::ranges::find(kVerbs, std::string_view(argv[1])) == kVerbs.end()) return false;
  for (char** argument = argv + 2; *argument != nullptr; ++argument) {
    if (std::string_view(*argument) == "--quick") return false;
  }
  return true;
}

}  // namespace

void shorten_spins(char** argv) {
  if (std::getenv(kRestarted) != nullptr) {
    ::unsetenv(kRestarted);
    ::unsetenv(kSpins);
    return;
  }
  if (std::getenv(kSpins) != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  if (std::thread::hardware_concurrency() < 2 || !runs_models(argv)) return;
  ::setenv(kSpins, "2000", 1);
  ::setenv(kRestarted, "1", 1);
  ::execv("/proc/self/exe", argv);
  ::unsetenv(kRestarted);  // it could not be started again, and goes on with libgomp's number
  ::unsetenv(kSpins);
}

}  // namespace egret::tools
