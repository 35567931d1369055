// SPDX-License-Identifier: Apache-2.0
// The ranks of a run that mpirun started. Their only joint operation is an exchange of bytes.
// Reductions are up to the caller (runtime/ranks/rank_program.h), so results do not depend on the
// order in which an MPI library adds.
//
// A failing rank reports the reason and calls abort(), which ends all ranks. A rank that hangs, or
// disappears without MPI noticing, is detected by the time limit of the others' exchanges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace egret::runtime {

class MpiWorld {
 public:
  // Whether mpirun (or another launcher of Open MPI) started this process.
  static bool is_distributed();
  // Ends the process when MPI does not return from joining or leaving in time: a call that waits
  // for a hanging rank has no other exit.
  using OnHang = std::function<void(const std::string& message)>;

  // Once a process. Errors: unavailable where Egret was built without MPI or MPI does not start;
  // usage, where EGRET_MPI_THREADS names no level.
  static base::Result<std::unique_ptr<MpiWorld>> join(double time_limit_s, OnHang on_hang);
  ~MpiWorld();  // leaves, when all others do
  MpiWorld(const MpiWorld&) = delete;
  MpiWorld& operator=(const MpiWorld&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  // What all ranks were granted: "single", "funneled", "serialized" or "multiple". Asked for is
  // "serialized", or what the variable EGRET_MPI_THREADS names.
  std::string_view thread_level() const;
  // Whether a thread of each rank may move messages while the rank computes: "serialized" or more.
  bool has_threads() const;

  // Sends outgoing[i] to the i-th rank of the group, which includes this one, and returns the bytes
  // received from each. All of the group call it, in the same order of calls. Errors: rank_failed
  // after the time limit or when MPI reports one; unsupported above 2 GiB for a rank. After
  // rank_failed MPI may still read `outgoing`: it must live until abort(). With ENDS_ON_STOP, also
  // rank_failed after base::stop_requested(); without, the ranks agree on where they stop.
  base::Result<std::vector<std::vector<std::byte>>> exchange(
      std::span<const std::int64_t> group, std::span<const std::vector<std::byte>> outgoing,
      bool ends_on_stop = true);

  // Whether some rank had seen base::stop_requested() in its call before this one. The answer to
  // this call travels while the ranks go on, so that none waits for it. All ranks call it equally
  // often and get equal answers. Errors: rank_failed.
  base::Result<bool> stop_agreed();

  // Ends all ranks with the exit code.
  [[noreturn]] void abort(int code);

 private:
  struct Impl;
  explicit MpiWorld(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace egret::runtime
