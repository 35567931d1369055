// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>

#include "base/status.h"

namespace egret::rules {

// Prints the reason on standard error. Returns the program's exit code.
inline int fail(const base::Status& status) {
  std::fprintf(stderr, "%s\n", status.message().c_str());
  return base::exit_code(status.code());
}

}  // namespace egret::rules
