// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

namespace egret::base {

void check_failed(const char* file, int line, std::string_view condition,
                  std::string_view message) {
  throw CheckFailure{file, line, condition, message};
}

}  // namespace egret::base
