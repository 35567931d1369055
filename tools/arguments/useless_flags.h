// SPDX-License-Identifier: Apache-2.0
// Flags that a verb knows and that have no effect on what it is asked to do.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/options/option_set.h"
#include "base/status.h"

namespace egret::tools {

// Usage error "--NAME REASON" for the first of OPTIONS that a flag gives to the verb, whose options
// are GIVEN. Variables and files may: they serve several runs.
base::Status refuse_flags(const base::OptionSet& given, const base::OptionSet& options,
                          const std::string& reason,
                          std::initializer_list<std::string_view> except = {});

}  // namespace egret::tools
