// SPDX-License-Identifier: Apache-2.0
// Backends as users name them.
#pragma once

#include <string_view>

#include "backends/backend.h"
#include "base/status.h"

namespace egret::backends {

// Never nullptr. Errors: usage_error, which lists the backends that there are.
base::Result<const Backend*> backend_called(std::string_view name);

}  // namespace egret::backends
