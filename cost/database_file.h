// SPDX-License-Identifier: Apache-2.0
// Opens profile databases for writing or reading, and explains failures.
#pragma once

#include <string>

#include "base/status.h"
#include "cost/sqlite.h"

namespace egret::cost {

inline constexpr const char* kInMemory = ":memory:";

// Opens for reading and writing; creates or migrates it to this version.
base::Result<Connection> open_to_write(const std::string& path);
// A copy of its contents in memory, in this version. The file is not changed and may be protected.
base::Result<Connection> copy_in_memory(const std::string& path);

}  // namespace egret::cost
