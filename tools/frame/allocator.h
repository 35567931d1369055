// SPDX-License-Identifier: Apache-2.0
// What the program asks of those who give it memory: base/system/page_pool.h, and the allocator
// that it is linked with (cmake/allocator.cmake), if with any.
#pragma once

namespace egret::tools {

// Freed memory goes back to the system at once, from now on. Takes up to a fifth more time where
// much is allocated, and is for verbs that read a model and then only run it: what was freed while
// weights were read and packed is otherwise still resident when the run needs memory.
void give_freed_memory_back();
// The opposite: large arrays that are freed stay resident for those that come. For verbs that make
// one plan of a model after the other, each of which needs about what the last one had; the system
// clears what it gives, which takes longer than to fill it.
void keep_freed_memory();

}  // namespace egret::tools
