// SPDX-License-Identifier: Apache-2.0
// Decompression of "deflate" data (RFC 1951), as ZIP archives hold it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace egret::base {

// The bytes that `packed` stands for. Linear in their number. Errors: bad_input for damaged data,
// and for data of more than `limit_bytes`, before more memory is taken.
Result<std::string> inflate(std::string_view packed, std::int64_t limit_bytes);

}  // namespace egret::base
