// SPDX-License-Identifier: Apache-2.0
#include "base/peak_memory.h"

#include <string_view>

#include "base/file.h"
#include "base/units.h"

namespace egret::base {

std::int64_t peak_memory_bytes() {
  constexpr std::string_view kField = "\nVmHWM:";
  const Result<std::string> status = read_file("/proc/self/status", 1 << 20);
  if (!status.ok()) return 0;
  const std::size_t field = status->find(kField);
  if (field == std::string::npos) return 0;
  const std::size_t begin = status->find_first_of("0123456789", field);
  const std::size_t end = status->find_first_not_of("0123456789", begin);
  const Result<std::int64_t> kibibytes =
      parse_integer(std::string_view(*status).substr(begin, end - begin));
  return kibibytes.ok() ? *kibibytes * 1024 : 0;
}

}  // namespace egret::base
