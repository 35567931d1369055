// SPDX-License-Identifier: Apache-2.0
// A file for values that leave memory during a run. It has no name: the system removes it when the
// plan is gone, whatever ends the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"
#include "base/system/nameless_file.h"

namespace egret::backends::cpu {

class ValueFile {
 public:
  // Errors: unavailable where the folder takes no file.
  static base::Result<std::unique_ptr<ValueFile>> create(const std::string& folder);

  // The offset of so many bytes more.
  std::int64_t add(std::int64_t bytes);
  // Takes the space on the disk, so that runs do not fail for lack of it. Errors: limit where the
  // disk is full.
  base::Status reserve();

  // Between add() and the file's end. Errors: limit where the disk is full; unavailable.
  base::Status write(std::int64_t offset, std::span<const std::byte> bytes);
  base::Status read(std::int64_t offset, std::span<std::byte> bytes);

 private:
  explicit ValueFile(const std::string& folder)
      : folder_(folder), file_(folder.empty() ? "." : folder) {}
  base::Status failed(const char* what, int error) const;

  const std::string folder_;
  const base::NamelessFile file_;
  std::int64_t size_ = 0;
};

}  // namespace egret::backends::cpu
