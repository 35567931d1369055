// SPDX-License-Identifier: Apache-2.0
// The ranks that run a plan together: one process each under mpirun, otherwise all in this process.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/status.h"
#include "runtime/mpi/messages.h"
#include "runtime/mpi/world.h"
#include "runtime/ranks/rank_program.h"

namespace egret::runtime {

class Ranks {
 public:
  struct Options {
    double limit_exchange_s = 60;  // the longest wait for other ranks before the run fails
    // Ends this process when MPI does not return from joining or leaving in time; see MpiWorld.
    MpiWorld::OnHang on_hang{};
  };
  // Errors: those of MpiWorld::join(); usage_error under mpirun without on_hang.
  static base::Result<Ranks> join(Options options);

  bool is_distributed() const { return world_ != nullptr; }
  std::int64_t rank() const { return world_ == nullptr ? 0 : world_->rank(); }
  std::int64_t size() const { return world_ == nullptr ? 1 : world_->size(); }
  // Ranks on this host; all, where mpirun does not say.
  std::int64_t size_of_host() const;
  double limit_exchange_s() const { return limit_exchange_s_; }
  // Valid as long as the object, which may be moved. ENDS_ON_STOP: as in MpiWorld::exchange().
  Exchange exchange(bool ends_on_stop = true) const;

  // Whether messages move while ranks compute; without mpirun, ranks share their memory.
  bool can_overlap() const { return world_ == nullptr || world_->has_threads(); }
  // MpiWorld::thread_level(); empty without mpirun.
  std::string_view thread_level() const {
    return world_ == nullptr ? std::string_view() : world_->thread_level();
  }
  // Under mpirun MpiWorld::stop_agreed(), otherwise base::stop_requested(). All ranks call it.
  base::Result<bool> stop_agreed() const;

  // Messages to and from the other ranks, under mpirun. OVERLAP needs can_overlap(). All ranks call
  // it; no exchange may run while the object lives. Errors: those of make_mpi_messages().
  base::Result<std::unique_ptr<Messages>> messages(bool overlap) const;

  // Waits for the other ranks, then leaves them. Further work is this rank's own.
  void leave() { world_.reset(); }
  // Ends all ranks with the exit code for a failed rank.
  [[noreturn]] void abort();

 private:
  std::unique_ptr<MpiWorld> world_;  // null: all ranks are in this process
  double limit_exchange_s_ = 0;
};

}  // namespace egret::runtime
