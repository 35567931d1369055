// SPDX-License-Identifier: Apache-2.0
// Processes that share a GPU, one after the other: what measures there is alone.
#pragma once

#include "base/status.h"

namespace egret::backends::cuda {

// Of one process, used by one thread at a time. Where $EGRET_CUDA_TURNS names a file, what runs or
// is timed on the GPU holds that file's lock (flock), for as long as it takes; the kernel gives it
// back when a process dies. Without the variable nobody waits.
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
    explicit Turn(DeviceTurns& turns);  // waits for it; one within another is the same one
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
