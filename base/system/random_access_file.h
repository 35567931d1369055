// SPDX-License-Identifier: Apache-2.0
// A regular file that is read in places, so that a reader need not hold the whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"

namespace egret::base {

class RandomAccessFile {
 public:
  // Fails: missing or unreadable (unavailable); no regular file, or larger than the limit (bad
  // input).
  static Result<RandomAccessFile> open(const std::string& path, std::int64_t limit_bytes);

  RandomAccessFile(RandomAccessFile&& other) noexcept;
  RandomAccessFile& operator=(RandomAccessFile&&) = delete;
  ~RandomAccessFile();

  // When it was opened.
  std::int64_t size() const { return size_; }
  // Fills `to` with the bytes from `offset` on; fewer come only where the file ends. Fails:
  // unavailable.
  Result<std::size_t> read_at(std::int64_t offset, std::span<std::byte> to) const;

 private:
  RandomAccessFile() = default;

  std::string path_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;
};

}  // namespace egret::base
