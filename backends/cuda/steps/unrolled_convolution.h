// SPDX-License-Identifier: Apache-2.0
// A convolution as two launches: an emitted kernel writes the image's windows as a matrix into the
// workspace, and cuBLASLt multiplies it with the filter. Without tensor cores, libraries have
// several times more algorithms for products than for convolutions, and spread small products over
// the whole GPU.
#pragma once

#include <memory>

#include "backends/cuda/steps/convolution.h"

namespace egret::backends::cuda {

// `definition`: the convolution's definition. nullptr where the matrix exceeds kWorkspace, or
// cuBLASLt does not support the epilogue.
std::unique_ptr<LibraryStep> make_unrolled_convolution(const Libraries& libraries, LtHandle handle,
                                                       const Convolution& convolution,
                                                       const StepDefinition& definition,
                                                       Precision precision);

}  // namespace egret::backends::cuda
