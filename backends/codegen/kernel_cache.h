// SPDX-License-Identifier: Apache-2.0
// Where compiled kernels are kept: $EGRET_KERNEL_CACHE, else "kernels" in the cache folder
// (base::cache_folder()). Files are named by a hash of all that made them and may be deleted.
// Empty where there is no such folder.
#pragma once

#include <string>

namespace egret::backends::codegen {

std::string kernel_cache_folder();

}  // namespace egret::backends::codegen
