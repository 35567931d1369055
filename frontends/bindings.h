// SPDX-License-Identifier: Apache-2.0
// Sizes of symbolic dimensions as text.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"

namespace egret::frontends {

// ImportOptions::bind from "NAME=SIZE" each. Errors: usage_error that quotes the text.
base::Result<std::map<std::string, std::int64_t>> parse_bindings(
    const std::vector<std::string>& texts);

}  // namespace egret::frontends
