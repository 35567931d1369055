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

  // Once a process. Errors: unavailable where Egret was built without MPI or MPI does not start.
  static base::Result<std::unique_ptr<MpiWorld>> join(double time_limit_s, OnHang on_hang);
  ~MpiWorld();  // leaves, when all others do
  MpiWorld(const MpiWorld&) = delete;
  MpiWorld& operator=(const MpiWorld&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  // Sends outgoing[i] to the i-th rank of the group, which includes this one, and returns the bytes
  // received from each. All of the group call it, in the same order of calls. Errors: rank_failed
  // after the time limit or when MPI reports one; unsupported above 2 GiB for a rank. After
  // rank_failed MPI may still read `outgoing`: it must live until abort().
  base::Result<std::vector<std::vector<std::byte>>> exchange(
      std::span<const std::int64_t> group, std::span<const std::vector<std::byte>> outgoing);

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
