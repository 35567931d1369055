// SPDX-License-Identifier: Apache-2.0
// NVIDIA's libraries are opened at run time, from the folders that libraries.h names.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/system/shared_library.h"

namespace egret::backends::cuda {

inline constexpr const char* kNameItsFolder =
    "install it, or name its folder in EGRET_CUDA_LIBRARIES";

using base::FindSymbol;
using base::SymbolTable;

// Opens the first of `names` that is found, for the life of the process, and passes its symbol
// lookup to `take`. Errors: unavailable with the remedy where no file is found.
base::Status open_shared_library(const std::string& what, const std::vector<std::string>& names,
                                 const std::string& remedy,
                                 const std::function<base::Status(const FindSymbol&)>& take);

}  // namespace egret::backends::cuda
