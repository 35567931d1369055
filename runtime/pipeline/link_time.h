// SPDX-License-Identifier: Apache-2.0
// The time of messages between two ranks.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "runtime/mpi/messages.h"

namespace egret::runtime {

struct LinkTime {
  double message_s = 0;  // of an empty message
  double bytes_per_second = 1e9;
};

// Ranks 0 and 1 send each other messages of 1 KiB and 1 MiB, both at the same time, as in sums of
// gradients and in full pipelines; the lower quartile of `repetitions` counts: typical where
// nothing else runs, and above it waits for cores that other programs have. Both call it; the other
// ranks return at once with the defaults. `tag`: not used otherwise. Errors: those of `messages`.
base::Result<LinkTime> time_link(Messages& messages, std::int64_t rank, std::int64_t tag,
                                 int repetitions);

}  // namespace egret::runtime
