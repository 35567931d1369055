// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <exception>

namespace egret::base {

// Whether it is what the standard library throws where the system refuses memory or a thread, whose
// stack is memory.
bool is_lack_of_memory(const std::exception& thrown);

// Whether the system would map so many bytes more now. To be asked before libraries are called that
// crash or hang where they get no memory. Takes two system calls.
bool has_room(std::size_t bytes);

}  // namespace egret::base
