// SPDX-License-Identifier: Apache-2.0
// NCCL, loaded on first use, from the same folders as CUDA's libraries
// (backends/cuda/api/libraries.h).
#pragma once

#include <string>

#include "base/status.h"
#include "runtime/nccl/abi.h"

namespace egret::runtime::nccl {

struct Library {
  Functions functions;
  base::Status has_nccl;  // ok, or why it cannot be used
  int version = 0;        // 22809 is 2.28.9
};

// Loads it, once a process.
const Library& system_library();

// "2.28.9".
std::string version_text(int version);

}  // namespace egret::runtime::nccl
