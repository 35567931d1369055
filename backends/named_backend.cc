// SPDX-License-Identifier: Apache-2.0
#include "backends/named_backend.h"

#include <string>
#include <vector>

#include "base/did_you_mean.h"

namespace egret::backends {

base::Result<const Backend*> backend_called(std::string_view name) {
  if (const Backend* found = find_backend(name); found != nullptr) return found;
  std::vector<std::string> known;
  for (const Backend* each : all_backends()) known.emplace_back(each->name());
  return base::usage_error("unknown backend '" + std::string(name) + "'" +
                           base::known_names(name, known));
}

}  // namespace egret::backends
