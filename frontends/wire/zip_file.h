// SPDX-License-Identifier: Apache-2.0
// Members of ZIP archives in memory, through libzip.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

struct zip;

namespace egret::frontends {

class ZipFile {
 public:
  // `bytes` outlives the object. Errors: bad_input for what is no archive or is damaged.
  static base::Result<ZipFile> open(std::string_view bytes);

  const std::vector<std::string>& names() const { return names_; }
  // The contents of a member. Errors: bad_input for damage, by its checksum also, and for more than
  // `limit_bytes`, before memory is taken; unsupported for compression that libzip lacks, and
  // encryption.
  base::Result<std::string> read(std::size_t member, std::int64_t limit_bytes) const;

 private:
  struct Close {
    void operator()(zip* archive) const;
  };
  std::unique_ptr<zip, Close> archive_;
  std::vector<std::string> names_;
};

}  // namespace egret::frontends
