// SPDX-License-Identifier: Apache-2.0
// Mutual exclusion of processes that share a GPU: a process that measures runs alone.
#pragma once

#include "base/status.h"

namespace egret::backends::cuda {

// Used by one thread at a time. If $EGRET_CUDA_TURNS names a file, runs and timings on the GPU hold
// that file's lock (flock); the kernel releases it when a process dies. Without the variable
// nothing waits.
class DeviceTurns {
 public:
  // Errors: usage where the file cannot be opened.
  static base::Result<DeviceTurns> open();
  DeviceTurns() = default;
  DeviceTurns(DeviceTurns&& other) noexcept;
  DeviceTurns& operator=(DeviceTurns&& other) noexcept;
  ~DeviceTurns();

  class Turn {
   public:
    explicit Turn(DeviceTurns& turns);  // waits for the lock; nested turns share it
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    DeviceTurns& turns_;
  };

 private:
  int file_ = -1;
  int depth_ = 0;
};

}  // namespace egret::backends::cuda
