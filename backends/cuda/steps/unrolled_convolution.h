// SPDX-License-Identifier: Apache-2.0
// A convolution as two launches: an emitted kernel writes the image's windows as a matrix into the
// workspace, and cuBLASLt multiplies it with the filter. Libraries have several times more
// algorithms for products than for convolutions without tensor cores, and spread small ones over
// the whole GPU.
#pragma once

#include <memory>

#include "backends/cuda/steps/convolution.h"

namespace egret::backends::cuda {

// `definition`: what the convolution is of. nullptr where the matrix does not fit kWorkspace, or
// cuBLASLt does not compute what stands around the convolution.
std::unique_ptr<LibraryStep> make_unrolled_convolution(const Libraries& libraries, LtHandle handle,
                                                       const Convolution& convolution,
                                                       const StepDefinition& definition,
                                                       Precision precision);

}  // namespace egret::backends::cuda
