// SPDX-License-Identifier: Apache-2.0
// The rates that a backend reaches on this machine at its best: what a roofline is drawn with.
#pragma once

#include "backends/backend.h"
#include "base/status.h"
#include "cost/model.h"

namespace egret::driver {

// Measured, in about a second, with so many threads (0: as many as the process may use): arithmetic
// by a product of two matrices of 1024 x 1024 f32 of which one is a weight, memory traffic by the
// sum of two arrays of 32 MiB, which the caches do not hold, the start of a kernel by one operator
// on 16 elements. Errors: those of the backend.
base::Result<cost::Rates> measured_rates(const backends::Backend& backend, int threads,
                                         backends::Precision precision = backends::Precision::kF32);

}  // namespace egret::driver
