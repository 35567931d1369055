// SPDX-License-Identifier: Apache-2.0
// Messages through MPI. MPI moves large messages only inside of its calls, so a thread of its own
// makes them while the rank computes. A rank that waits makes them itself: on a busy machine,
// waking it through another thread takes as long as that thread waits for a core, which is a few
// milliseconds. Without the thread, messages move while the rank waits for one: the comparison
// shows what overlap gains.
#pragma once

#include <memory>

#include "runtime/mpi/messages.h"

namespace egret::runtime {

struct MpiMessagesOptions {
  double limit_s = 60;  // of a wait
  bool overlap = true;  // a thread moves messages while the rank computes; MpiWorld::has_threads()
};

// MPI has been started (MpiWorld). All ranks call it together, and make no other call of MPI while
// the object lives. Its destructor waits until all messages of this rank are sent, up to the limit.
// Errors: unavailable without MPI; rank_failed.
base::Result<std::unique_ptr<Messages>> make_mpi_messages(const MpiMessagesOptions& options);

}  // namespace egret::runtime
