// SPDX-License-Identifier: Apache-2.0
#include "backends/value_storage.h"

namespace egret::backends {

const StoringBackend* storing_backend(const Backend& backend) {
  return dynamic_cast<const StoringBackend*>(&backend);
}

}  // namespace egret::backends
