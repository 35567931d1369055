// SPDX-License-Identifier: Apache-2.0
#include "base/system/freed_memory.h"

#include <malloc.h>

#include <limits>

namespace egret::base {

void keep_freed_memory() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
}

}  // namespace egret::base
