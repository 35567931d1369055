// SPDX-License-Identifier: Apache-2.0
// The helpers that emitted kernels call: conversions, integer arithmetic that wraps, functions,
// Euclidean division, folds over a block of threads. The meaning of each is that of
// ir/core/function.h, ir/core/integer_arithmetic.h and ir/core/real_arithmetic.h.
#pragma once

#include <string>

#include "backends/codegen/text/schedule.h"

namespace egret::backends::codegen {

// The source text before kernels. The CUDA version needs no header and compiles with NVRTC. Without
// __CUDACC__ it expects threadIdx, blockIdx, blockDim, gridDim, __global__, __launch_bounds__,
// __device__, __shared__, __syncthreads and __shfl_xor_sync from the CPU emulation that runs it.
const std::string& prelude(Target target);

}  // namespace egret::backends::codegen
