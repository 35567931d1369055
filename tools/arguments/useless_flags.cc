// SPDX-License-Identifier: Apache-2.0
#include "tools/arguments/useless_flags.h"

#include <algorithm>

namespace egret::tools {

base::Status refuse_flags(const base::OptionSet& given, const base::OptionSet& options,
                          const std::string& reason,
                          std::initializer_list<std::string_view> except) {
  for (const std::string& name : options.names()) {
    const base::BoundOption* option = given.find(name);
    if (option != nullptr && option->origin == base::OptionOrigin::kFlag &&
        std::ranges::find(except, name) == except.end())
      return base::usage_error("--" + name + " " + reason);
  }
  return base::ok();
}

}  // namespace egret::tools
