// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/loops/short_spin.h"

#include <omp.h>

#include <cstdlib>
#include <mutex>
#include <semaphore>
#include <system_error>
#include <thread>

namespace egret::backends::cpu {
namespace {

// libgomp counts the threads of a team as long as the thread that formed it lives. This one forms
// a team with one thread more than there are processors, and sleeps for good.
void hold_a_team() {
  static std::binary_semaphore never(0);
#pragma omp parallel num_threads(omp_get_num_procs() + 1)
  { (void)omp_get_thread_num(); }
  never.acquire();
}

}  // namespace

void keep_spins_short() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr)
      return;
    try {
      std::thread(hold_a_team).detach();
    } catch (const std::system_error&) {
      // Without a thread more, waiting threads spin as long as before.
    }
  });
}

}  // namespace egret::backends::cpu
