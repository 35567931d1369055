// SPDX-License-Identifier: Apache-2.0
// The CUDA backend over given libraries: the system's, or those that a test brings.
#pragma once

#include <memory>

#include "backends/backend.h"
#include "backends/cuda/libraries.h"

namespace egret::backends::cuda {

// Loads the system's libraries when it is first used. `libraries` outlive it.
std::unique_ptr<Backend> make_backend(const Libraries& (*libraries)());

}  // namespace egret::backends::cuda
