// SPDX-License-Identifier: Apache-2.0
// The folder of compiled kernels: $EGRET_KERNEL_CACHE, else "kernels" in the cache folder
// (base::cache_folder()). Files are named by a hash of everything that determines them and may be
// deleted. Empty where there is no such folder.
#pragma once

#include <string>

namespace egret::backends::codegen {

std::string kernel_cache_folder();

}  // namespace egret::backends::codegen
