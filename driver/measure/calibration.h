// SPDX-License-Identifier: Apache-2.0
// The rates that a backend reaches on this machine at its best, which a roofline is drawn with:
// measured, kept in the database of costs, and asked for in one place.
#pragma once

#include <string>

#include "base/status.h"
#include "cost/database.h"
#include "cost/model.h"
#include "driver/measure/machine_fingerprint.h"

namespace egret::driver {

// Measured, in about two seconds, with so many threads (0: as many as the process may use):
// arithmetic by a product of two matrices of 1024 x 1024 f32 of which one is a weight, memory
// traffic by the sum of two arrays of 32 MiB, which the caches do not hold, the start of a kernel
// by one operator on 16 elements; on a device by 4096 x 4096 and 128 MiB. A backend for which that
// would take many seconds (the interpreter) is measured on smaller ones. Errors: those of the
// backend.
base::Result<cost::Rates> measured_rates(const Execution& execution);

struct KnownRates {
  cost::Rates rates;
  bool measured = false;  // otherwise assumed, see assumed_rates()
  // Rates that estimates stay below measurements with (see cost/profiled.h): the faster of what is
  // known and what is assumed.
  cost::Rates fastest;
};

// The rates of a machine (machine_fingerprint()) in the database, or those assumed of this
// processor. Errors: the database's.
base::Result<KnownRates> known_rates(const cost::Database& database, const std::string& machine,
                                     const Execution& execution);
// As above, of the database at `path` (empty: the default path), which is not made where there is
// none.
base::Result<KnownRates> known_rates_at(const std::string& path, const std::string& machine,
                                        const Execution& execution);
// As known_rates(), but measured and kept where there are none. Errors: the backend's, too.
base::Result<KnownRates> rates_once_measured(cost::Database& database, const Execution& execution);

}  // namespace egret::driver
