// SPDX-License-Identifier: Apache-2.0
#include "base/system/temporary_folder.h"

#include <stdlib.h>

#include <filesystem>
#include <system_error>

namespace egret::base {

Result<std::unique_ptr<TemporaryFolder>> TemporaryFolder::make(std::string_view prefix) {
  std::error_code error;
  const bool memory = std::filesystem::is_directory("/dev/shm", error);
  const std::filesystem::path parent =
      memory ? std::filesystem::path("/dev/shm") : std::filesystem::temp_directory_path(error);
  std::string path = (parent / (std::string(prefix) + "XXXXXX")).string();
  if (::mkdtemp(path.data()) == nullptr)
    return unavailable("cannot make a folder in " + parent.string());
  return std::unique_ptr<TemporaryFolder>(new TemporaryFolder(std::move(path)));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace egret::base
