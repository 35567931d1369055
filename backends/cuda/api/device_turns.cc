// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/api/device_turns.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

namespace egret::backends::cuda {

base::Result<DeviceTurns> DeviceTurns::open() {
  DeviceTurns turns;
  const char* name = std::getenv("EGRET_CUDA_TURNS");
  if (name == nullptr || *name == 0) return turns;
  turns.file_ = ::open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (turns.file_ < 0) {
    return base::usage_error(std::string("EGRET_CUDA_TURNS: cannot open '") + name +
                             "': " + std::strerror(errno));
  }
  return turns;
}

DeviceTurns::DeviceTurns(DeviceTurns&& other) noexcept
    : file_(std::exchange(other.file_, -1)), depth_(std::exchange(other.depth_, 0)) {}

DeviceTurns& DeviceTurns::operator=(DeviceTurns&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(depth_, other.depth_);
  return *this;
}

DeviceTurns::~DeviceTurns() {
  if (file_ >= 0) ::close(file_);
}

// Processes that share a GPU exclude each other by a lock on a file. Turns nest: only the outermost
// one locks.
DeviceTurns::Turn::Turn(DeviceTurns& turns) : turns_(turns) {
  if (turns_.depth_++ > 0 || turns_.file_ < 0) return;
  while (::flock(turns_.file_, LOCK_EX) != 0 && errno == EINTR) {
  }
}

DeviceTurns::Turn::~Turn() {
  if (--turns_.depth_ == 0 && turns_.file_ >= 0) ::flock(turns_.file_, LOCK_UN);
}

}  // namespace egret::backends::cuda
