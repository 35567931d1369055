// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/plan/value_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace egret::backends::cpu {

base::Result<std::unique_ptr<ValueFile>> ValueFile::create(const std::string& folder) {
  std::string name = (folder.empty() ? "." : folder) + "/.egret-values-XXXXXX";
  const int descriptor = mkostemp(name.data(), O_CLOEXEC);
  if (descriptor < 0) {
    return base::unavailable("no file for values can be made in the folder '" + folder +
                             "': " + std::generic_category().message(errno));
  }
  unlink(name.c_str());
  return std::unique_ptr<ValueFile>(new ValueFile(folder, descriptor));
}

ValueFile::~ValueFile() { close(descriptor_); }

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
  const int error = posix_fallocate(descriptor_, 0, size_);
  return error == 0 ? base::ok() : failed("reserving space for", error);
}

base::Status ValueFile::write(std::int64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = pwrite(descriptor_, bytes.data(), bytes.size(), offset);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return failed("writing to", done == 0 ? ENOSPC : errno);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    offset += done;
  }
  return base::ok();
}

base::Status ValueFile::read(std::int64_t offset, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = pread(descriptor_, bytes.data(), bytes.size(), offset);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return failed("reading from", done == 0 ? EIO : errno);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    offset += done;
  }
  return base::ok();
}

}  // namespace egret::backends::cpu
