// SPDX-License-Identifier: Apache-2.0
// How much memory this process has, and the most that it has had at one time.
#pragma once

#include <cstdint>

namespace egret::base {

// The most resident bytes since the program started; 0 where the system does not say. (getrusage()
// would also count the process that started this one.)
std::int64_t peak_memory_bytes();
// The resident bytes now, including pages of the program and its libraries; 0 where the system does
// not say.
std::int64_t resident_memory_bytes();
// The memory of the whole machine; 0 where the system does not say. Reservations may exceed it, use
// may not.
std::int64_t machine_memory_bytes();

}  // namespace egret::base
