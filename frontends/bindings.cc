// SPDX-License-Identifier: Apache-2.0
#include "frontends/bindings.h"

#include "base/formats/units.h"

namespace egret::frontends {

base::Result<std::map<std::string, std::int64_t>> parse_bindings(
    const std::vector<std::string>& texts) {
  std::map<std::string, std::int64_t> sizes;
  for (const std::string& text : texts) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return base::usage_error("--bind takes NAME=SIZE, not '" + text + "'");
    }
    auto size = base::parse_integer(std::string_view(text).substr(equals + 1));
    if (!size.ok()) return size.status().at("--bind " + text);
    if (*size < 0) return base::usage_error("--bind " + text + ": a size cannot be negative");
    sizes[text.substr(0, equals)] = *size;
  }
  return sizes;
}

}  // namespace egret::frontends
