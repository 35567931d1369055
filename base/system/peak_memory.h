// SPDX-License-Identifier: Apache-2.0
// How much memory this process has, and the most that it has had at one time.
#pragma once

#include <cstdint>

namespace egret::base {

// Resident bytes, at most, since the program started. (getrusage() would also count what the
// process that started this one had before.) 0 where the system does not say.
std::int64_t peak_memory_bytes();
// Resident bytes now, pages of the program and its libraries included; 0 likewise.
std::int64_t resident_memory_bytes();
// Of the whole machine; 0 likewise. More than this may be reserved, but not used.
std::int64_t machine_memory_bytes();

}  // namespace egret::base
