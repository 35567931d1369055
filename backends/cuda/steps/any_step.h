// SPDX-License-Identifier: Apache-2.0
// A step that several libraries compute: a 1x1 convolution, for example, is also a product.
#pragma once

#include <memory>
#include <vector>

#include "backends/cuda/steps/library_step.h"

namespace egret::backends::cuda {

// A step with the candidates of all of them, in order. A single step is returned as it is; nullptr
// for none.
std::unique_ptr<LibraryStep> any_step(std::vector<std::unique_ptr<LibraryStep>> steps);

}  // namespace egret::backends::cuda
