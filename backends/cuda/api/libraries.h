// SPDX-License-Identifier: Apache-2.0
// CUDA's libraries, loaded on first use.
//
// They are searched in the folders of $EGRET_CUDA_LIBRARIES (separated by colons; those inside
// Python wheels, for instance), then where the system's loader looks, then in /usr/local/cuda/lib64
// and /usr/local/nvidia/lib64. A test may also fill the tables with functions that record calls or
// emulate a GPU.
#pragma once

#include <string>

#include "backends/cuda/api/abi.h"
#include "base/status.h"

namespace egret::backends::cuda {

struct Libraries {
  DriverFunctions driver;
  NvrtcFunctions nvrtc;
  LtFunctions lt;
  DnnFunctions dnn;
  // ok, or why the library cannot be used. Without cuBLASLt and cuDNN emitted kernels compute
  // products and convolutions.
  base::Status has_driver, has_nvrtc, has_lt, has_dnn;
  int driver_version = 0;  // 12080 is 12.8
  int nvrtc_version = 0;   // likewise
};

// The oldest supported driver.
inline constexpr int kOldestDriver = 12000;

// Loads the available libraries once a process. Never fails; the status members name what is
// missing.
const Libraries& system_libraries();

// ok when kernels can be compiled and run: a driver that is new enough, a GPU and NVRTC.
// unavailable with the reason and the remedy otherwise.
base::Status usable(const Libraries& libraries);

// "12.8".
std::string version_text(int version);

}  // namespace egret::backends::cuda
