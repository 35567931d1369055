// SPDX-License-Identifier: Apache-2.0
#include "frontends/wire/external_data.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace egret::frontends {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_;
};

// Opening never waits (a pipe without a writer would) and never makes a terminal ours.
constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW;

// The components of a relative path that stays in the model's folder.
base::Result<std::vector<std::string>> components_of(const std::string& location) {
  if (location.empty()) return base::bad_input("external data has no location");
  if (location.find('\0') != std::string::npos)
    return base::bad_input("the location of external data contains a zero byte");
  if (location.front() == '/') {
    return base::bad_input("external data '" + location +
                           "' is an absolute path; it must lie in the model's folder");
  }
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= location.size();) {
    const std::size_t end = std::min(location.find('/', begin), location.size());
    std::string part = location.substr(begin, end - begin);
    begin = end + 1;
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      return base::bad_input("external data '" + location + "' lies outside the model's folder");
    }
    parts.push_back(std::move(part));
  }
  if (parts.empty()) return base::bad_input("external data '" + location + "' is not a file");
  return parts;
}

// Step by step for kernels without openat2: no component may be a link.
Descriptor open_stepwise(const Descriptor& folder, const std::vector<std::string>& parts) {
  Descriptor at(::fcntl(folder.get(), F_DUPFD_CLOEXEC, 0));
  for (std::size_t i = 0; at.valid() && i < parts.size(); ++i) {
    const int flags = i + 1 < parts.size() ? kFlags | O_DIRECTORY : kFlags;
    at = Descriptor(::openat(at.get(), parts[i].c_str(), flags));
  }
  return at;
}

// openat2 lets the kernel refuse links and paths that leave the folder, without a race between
// check and use.
Descriptor open_beneath(const Descriptor& folder, const std::vector<std::string>& parts) {
  std::string path;
  for (const std::string& part : parts) path += (path.empty() ? "" : "/") + part;
  struct open_how how {};
  how.flags = static_cast<std::uint64_t>(kFlags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const long fd = ::syscall(SYS_openat2, folder.get(), path.c_str(), &how, sizeof how);
  if (fd < 0 && (errno == ENOSYS || errno == EPERM || errno == EINVAL)) {
    return open_stepwise(folder, parts);
  }
  return Descriptor(static_cast<int>(fd));
}

// Opens and checks; the result is a regular file of at least offset + bytes.
// All checks of the file use the open descriptor, so that the file cannot be exchanged between
// check and read.
base::Result<Descriptor> open_checked(const std::string& folder, const ExternalRange& range,
                                      std::int64_t bytes) {
  if (folder.empty()) {
    return base::bad_input("refers to external data '" + range.location +
                           "', but the model was not read from a folder");
  }
  EGRET_ASSIGN_OR_RETURN(const auto parts, components_of(range.location));
  const std::string place = "external data '" + range.location + "'";
  if (range.offset < 0) return base::bad_input(place + ": negative offset");
  if (range.length >= 0 && range.length != bytes) {
    return base::bad_input(place + ": has " + std::to_string(range.length) +
                           " bytes, but its shape and type need " + std::to_string(bytes));
  }
  const Descriptor base(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!base.valid()) {
    return base::unavailable("cannot open folder '" + folder + "': " + std::strerror(errno));
  }
  Descriptor file = open_beneath(base, parts);
  if (!file.valid()) {
    if (errno == ELOOP || errno == EXDEV || errno == ENOTDIR) {
      return base::bad_input(
          place +
          ": its path contains a symbolic link or a file; copy the data into the model's folder");
    }
    if (errno == ENXIO || errno == ENODEV)
      return base::bad_input(place + ": is not a regular file");
    return base::unavailable(place + ": " + std::strerror(errno));
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0)
    return base::unavailable(place + ": " + std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return base::bad_input(place + ": is not a regular file");
  // A hard link reaches a file outside the folder without any symbolic link in the path.
  if (status.st_nlink > 1) {
    return base::bad_input(place + ": has a second hard link; give the model its own copy");
  }
  // Compared by subtraction, because offset + bytes may overflow.
  if (range.offset > status.st_size || bytes > status.st_size - range.offset) {
    return base::bad_input(place + ": bytes " + std::to_string(range.offset) + " to " +
                           std::to_string(range.offset) + " + " + std::to_string(bytes) +
                           " lie outside the file of " + std::to_string(status.st_size));
  }
  return file;
}

}  // namespace

base::Status check_external(const std::string& folder, const ExternalRange& range,
                            std::int64_t bytes) {
  const auto file = open_checked(folder, range, bytes);
  return file.status();
}

base::Status read_external(const std::string& folder, const ExternalRange& range,
                           std::span<std::byte> out) {
  EGRET_ASSIGN_OR_RETURN(const Descriptor file,
                         open_checked(folder, range, static_cast<std::int64_t>(out.size())));
  std::size_t done = 0;
  // pread may return fewer bytes than asked for, and a signal may interrupt it.
  while (done < out.size()) {
    const ssize_t got = ::pread(file.get(), out.data() + done, out.size() - done,
                                static_cast<off_t>(range.offset + static_cast<std::int64_t>(done)));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      return base::unavailable(
          "external data '" + range.location +
          "': " + (got == 0 ? "the file shrank during reading" : std::strerror(errno)));
    }
    done += static_cast<std::size_t>(got);
  }
  return base::ok();
}

}  // namespace egret::frontends
