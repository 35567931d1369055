// SPDX-License-Identifier: Apache-2.0
// What it takes to copy values to storage and back.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "extract/recompute/schedule.h"

namespace egret::driver {

struct StorageRates {
  double seconds_per_copy = 0;
  double bytes_per_second_out = 0;
  double bytes_per_second_back = 0;
};

// Of a file in the folder, as values are copied there: through the system's cache of files, where
// that has room. Takes about 64 MiB of the disk for a moment. Errors: unavailable for a folder that
// takes no file; limit where the disk is full.
base::Result<StorageRates> measured_storage(const std::string& folder);

// All values of tasks may leave memory, at these prices, except those that take none.
void price_copies(const StorageRates& rates, extract::RecomputeProblem& problem);

}  // namespace egret::driver
