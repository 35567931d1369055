// SPDX-License-Identifier: Apache-2.0
// Members of ZIP archives in memory, stored or "deflated".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace egret::base {

struct ZipMember {
  std::string name;
  int method = 0;  // 0: stored, 8: deflated
  std::uint32_t checksum = 0;
  std::int64_t packed_bytes = 0;
  std::int64_t bytes = 0;
  std::int64_t offset = 0;  // of its local header
};

// The members by the archive's directory. Errors: bad_input for what is no archive, is damaged, or
// is larger than 4 GiB.
Result<std::vector<ZipMember>> zip_members(std::string_view archive);
// The contents of a member. Errors: bad_input for damage, by its checksum also, and for more than
// `limit_bytes`; unsupported for other methods and encryption.
Result<std::string> read_zip_member(std::string_view archive, const ZipMember& member,
                                    std::int64_t limit_bytes);

}  // namespace egret::base
