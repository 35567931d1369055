// SPDX-License-Identifier: Apache-2.0
// How a profile database is opened: what may be written, what only read, and what to say of the
// rest.
#pragma once

#include <string>

#include "base/status.h"
#include "cost/sqlite.h"

namespace egret::cost {

inline constexpr const char* kInMemory = ":memory:";

// To read and write; made where there is none, of this version afterwards.
base::Result<Connection> open_to_write(const std::string& path);
// Its contents in memory, of this version; the file stays as it is and may be protected.
base::Result<Connection> copy_in_memory(const std::string& path);

}  // namespace egret::cost
