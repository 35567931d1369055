// SPDX-License-Identifier: Apache-2.0
#include "backends/codegen/kernel_cache.h"

#include <cstdlib>

#include "base/system/file.h"

namespace egret::backends::codegen {

std::string kernel_cache_folder() {
  const char* chosen = std::getenv("EGRET_KERNEL_CACHE");
  if (chosen != nullptr && *chosen != 0) return chosen;
  const std::string folder = base::cache_folder();
  return folder.empty() ? "" : folder + "/kernels";
}

}  // namespace egret::backends::codegen
