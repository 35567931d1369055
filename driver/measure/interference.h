// SPDX-License-Identifier: Apache-2.0
// Whether other processes disturb measurements.
#pragma once

#include "driver/measure/machine_fingerprint.h"

namespace egret::driver {

// Whether, during the last tenth of a second or since the previous call, other processes used
// processors that a run of this kind needs: the processors in use by others, and the run's threads,
// are more than there are. False for a device's kernels, and where the system does not say. Call it
// before and after a measurement; the answer after it is about the measurement.
bool is_disturbed(const Execution& execution);
// The same of the present. Waits for a tenth of a second if this process is younger.
bool is_disturbed_now(const Execution& execution);

}  // namespace egret::driver
