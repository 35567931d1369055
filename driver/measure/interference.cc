// SPDX-License-Identifier: Apache-2.0
#include "driver/measure/interference.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "backends/backend.h"
#include "base/system/other_load.h"

namespace egret::driver {
namespace {

// One for the process, because it counts the time of all its threads.
base::OtherLoad& other_load() {
  static base::OtherLoad load;
  return load;
}

// Below a third of a processor, a machine at rest is told from one at work only by chance: the
// system counts in steps of a tenth of the window.
constexpr double kTolerated = 0.35;

bool leaves_too_few(double others, const Execution& execution) {
  const int available = backends::available_threads();
  const int used = execution.threads > 0 ? std::min(execution.threads, available) : available;
  return others + used > available + kTolerated;
}

bool on_device(const Execution& execution) {
  const backends::Backend* backend = backends::find_backend(execution.backend);
  return backend != nullptr && backend->peak_rates(execution.precision).has_value();
}

}  // namespace

bool is_disturbed(const Execution& execution) {
  if (on_device(execution)) return false;
  const std::optional<double> others = other_load().sample();
  return others && leaves_too_few(*others, execution);
}

bool is_disturbed_now(const Execution& execution) {
  if (on_device(execution)) return false;
  if (!other_load().sample()) {
    std::this_thread::sleep_for(std::chrono::duration<double>(base::OtherLoad::kLeastSeconds));
  }
  return is_disturbed(execution);
}

}  // namespace egret::driver
