// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/plan/value_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace egret::backends::cpu {

base::Result<std::unique_ptr<ValueFile>> ValueFile::create(const std::string& folder) {
  std::unique_ptr<ValueFile> file(new ValueFile(folder));
  if (file->file_.descriptor() < 0) {
    return base::unavailable("no file for values can be made in the folder '" + folder +
                             "': " + std::generic_category().message(errno));
  }
  return file;
}

base::Status ValueFile::failed(const char* what, int error) const {
  const std::string text = std::string(what) + " the file of values in '" + folder_ +
                           "' failed: " + std::generic_category().message(error);
  const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  return full ? base::limit_hit(text + " (" + std::to_string(size_) + " bytes are needed)")
              : base::unavailable(text);
}

std::int64_t ValueFile::add(std::int64_t bytes) {
  constexpr std::int64_t kPage = 4096;
  const std::int64_t offset = size_;
  size_ += (bytes + kPage - 1) / kPage * kPage;
  return offset;
}

base::Status ValueFile::reserve() {
  if (size_ == 0) return base::ok();
  const int error = posix_fallocate(file_.descriptor(), 0, size_);
  return error == 0 ? base::ok() : failed("reserving space for", error);
}

base::Status ValueFile::write(std::int64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = pwrite(file_.descriptor(), bytes.data(), bytes.size(), offset);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return failed("writing to", done == 0 ? ENOSPC : errno);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    offset += done;
  }
  return base::ok();
}

base::Status ValueFile::read(std::int64_t offset, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = pread(file_.descriptor(), bytes.data(), bytes.size(), offset);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return failed("reading from", done == 0 ? EIO : errno);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    offset += done;
  }
  return base::ok();
}

}  // namespace egret::backends::cpu
