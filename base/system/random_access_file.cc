// SPDX-License-Identifier: Apache-2.0
#include "base/system/random_access_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/stop.h"

namespace egret::base {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

}  // namespace

Result<RandomAccessFile> RandomAccessFile::open(const std::string& path, std::int64_t limit_bytes) {
  RandomAccessFile file;
  file.path_ = path;
  file.descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info {};
  if (file.descriptor_ < 0 || ::fstat(file.descriptor_, &info) != 0)
    return unavailable(path + ": cannot open: " + reason(errno));
  if (!S_ISREG(info.st_mode)) return bad_input(path + ": is not a regular file");
  if (info.st_size > limit_bytes) {
    return bad_input(path + ": larger than the limit of " + std::to_string(limit_bytes) + " bytes");
  }
  file.size_ = info.st_size;
  return file;
}

RandomAccessFile::RandomAccessFile(RandomAccessFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_) {}

RandomAccessFile::~RandomAccessFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<std::size_t> RandomAccessFile::read_at(std::int64_t offset, std::span<std::byte> to) const {
  std::size_t done = 0;
  while (done < to.size()) {
    const ssize_t got = ::pread(descriptor_, to.data() + done, to.size() - done,
                                static_cast<off_t>(offset) + static_cast<off_t>(done));
    if (got == 0) break;
    if (got > 0) {
      done += static_cast<std::size_t>(got);
    } else if (errno != EINTR) {
      return unavailable(path_ + ": cannot read: " + reason(errno));
    } else if (stop_requested()) {
      return limit_hit(path_ + ": interrupted while reading");
    }
  }
  return done;
}

}  // namespace egret::base
