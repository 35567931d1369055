// SPDX-License-Identifier: Apache-2.0
#include "tools/allocator.h"

#include "base/page_pool.h"

#if defined(EGRET_WITH_MIMALLOC)
#include <mimalloc.h>
#pragma weak mi_option_set  // test programs are not linked with it
#endif

namespace egret::tools {

void give_freed_memory_back() {
  base::page_pool().keep_at_most(base::PagePool::kLeastKept);
#if defined(EGRET_WITH_MIMALLOC)
  if (&mi_option_set != nullptr) mi_option_set(mi_option_decommit_delay, 0);
#endif
}

void keep_freed_memory() { base::page_pool().keep_at_most(base::PagePool::kMuchKept); }

}  // namespace egret::tools
