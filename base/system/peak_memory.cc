// SPDX-License-Identifier: Apache-2.0
#include "base/system/peak_memory.h"

#include <unistd.h>

#include <string_view>

#include "base/formats/units.h"
#include "base/system/file.h"

namespace egret::base {

namespace {

std::int64_t status_bytes(std::string_view name) {
  const Result<std::string> status = read_file("/proc/self/status", 1 << 20);
  if (!status.ok()) return 0;
  const std::size_t field = status->find(name);
  if (field == std::string::npos) return 0;
  const std::size_t begin = status->find_first_of("0123456789", field);
  const std::size_t end = status->find_first_not_of("0123456789", begin);
  const Result<std::int64_t> kibibytes =
      parse_integer(std::string_view(*status).substr(begin, end - begin));
  return kibibytes.ok() ? *kibibytes * 1024 : 0;
}

}  // namespace

std::int64_t peak_memory_bytes() { return status_bytes("\nVmHWM:"); }

std::int64_t resident_memory_bytes() { return status_bytes("\nVmRSS:"); }

std::int64_t machine_memory_bytes() {
  const std::int64_t pages = ::sysconf(_SC_PHYS_PAGES);
  const std::int64_t page_bytes = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && page_bytes > 0 ? pages * page_bytes : 0;
}

}  // namespace egret::base
