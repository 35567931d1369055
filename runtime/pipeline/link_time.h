// SPDX-License-Identifier: Apache-2.0
// The time of messages between two ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "parallel/simulator/pipeline_simulation.h"
#include "runtime/mpi/messages.h"

namespace egret::runtime {

struct LinkTime {
  std::vector<parallel::MessageTime> messages;  // alone on the link
  double bytes_per_second = 1e9;                // while both directions are full
};

// Ranks 0 and 1 send messages of 1 KiB to 1 MiB forth and back, which gives the latencies: on a
// link with a delay, those of TCP depend on the size, as the sender waits for answers. The rate is
// that of longer messages both at the same time, as in sums of gradients and in full pipelines. The
// lower quartile of `repetitions` counts: typical where nothing else runs, and above it waits for
// cores that other programs have. Both call it; the other ranks return at once with the defaults.
// `tag`: not used otherwise. Errors: those of `messages`.
base::Result<LinkTime> time_link(Messages& messages, std::int64_t rank, std::int64_t tag,
                                 int repetitions);

// Messages between this rank and its neighbour, rank 0 and 1, 2 and 3 and so on, both ways, that
// travel while the ranks compute. An odd last rank has none.
class MessagesBeside {
 public:
  // `tag`: not used otherwise.
  MessagesBeside(Messages& messages, std::int64_t rank, std::int64_t ranks, std::int64_t tag);

  // Keeps some on their way. To be called between passes. Errors: those of `messages`.
  base::Status keep();
  // Waits for those that the neighbour has sent. The neighbour calls it too.
  base::Status end();

 private:
  Messages& messages_;
  const std::int64_t neighbour_;
  const bool has_neighbour_;
  const std::int64_t tag_;
  std::int64_t under_way_ = 0;  // sent, less those that came
  bool neighbour_ended_ = false;
};

}  // namespace egret::runtime
