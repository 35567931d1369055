// SPDX-License-Identifier: Apache-2.0
// Steps of several libraries that compute the same: a convolution by one pixel is a product, too.
#pragma once

#include <memory>
#include <vector>

#include "backends/cuda/steps/library_step.h"

namespace egret::backends::cuda {

// Whose candidates are those of all of them, in order. The only one where there is one; nullptr
// where there is none.
std::unique_ptr<LibraryStep> any_step(std::vector<std::unique_ptr<LibraryStep>> steps);

}  // namespace egret::backends::cuda
