// SPDX-License-Identifier: Apache-2.0
#include "base/system/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "base/stop.h"

namespace egret::base {
namespace {

constexpr std::size_t kPiece = 65536;

std::string reason(int error) { return std::generic_category().message(error); }

// A file descriptor closed on every way out.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

Status too_large(const std::string& name, std::int64_t limit) {
  return bad_input(name + ": larger than the limit of " + std::to_string(limit) + " bytes");
}

struct FileFacts {
  bool regular = false;
  std::int64_t size = 0;
};

// Of something that can be read within the limit, as far as that can be told before reading.
Result<FileFacts> readable(int descriptor, const std::string& name, std::int64_t limit) {
  struct stat info {};
  if (::fstat(descriptor, &info) != 0) return unavailable(name + ": " + reason(errno));
  if (S_ISDIR(info.st_mode)) return bad_input(name + ": is a directory, not a file");
  const FileFacts facts{S_ISREG(info.st_mode), info.st_size};
  if (facts.regular && facts.size > limit) return too_large(name, limit);
  return facts;
}

// How many bytes came; 0 at the end.
Result<std::size_t> read_some(int descriptor, const std::string& name, char* to, std::size_t most) {
  while (true) {
    const ssize_t got = ::read(descriptor, to, most);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) return unavailable(name + ": cannot read: " + reason(errno));
    if (stop_requested()) return limit_hit(name + ": interrupted while reading");
  }
}

Result<std::string> read_descriptor(int descriptor, const std::string& name, std::int64_t limit) {
  EGRET_ASSIGN_OR_RETURN(const FileFacts facts, readable(descriptor, name, limit));
  std::string bytes;
  // One byte more than expected shows the end without growing the buffer again.
  std::size_t step = facts.regular ? static_cast<std::size_t>(facts.size) + 1 : kPiece;
  while (true) {
    const std::size_t old = bytes.size();
    bytes.resize(old + step);
    EGRET_ASSIGN_OR_RETURN(const std::size_t got,
                           read_some(descriptor, name, bytes.data() + old, step));
    bytes.resize(old + got);
    if (got == 0) return bytes;
    if (static_cast<std::int64_t>(bytes.size()) > limit) return too_large(name, limit);
    step = std::max(kPiece, std::min<std::size_t>(bytes.size(), std::size_t{1} << 26));
  }
}

Status read_descriptor_in_pieces(int descriptor, const std::string& name, std::int64_t limit,
                                 FunctionRef<Status(std::string_view)> take) {
  EGRET_RETURN_IF_ERROR(readable(descriptor, name, limit).status());
  std::string piece(kPiece, '\0');
  std::int64_t total = 0;
  while (true) {
    EGRET_ASSIGN_OR_RETURN(const std::size_t got,
                           read_some(descriptor, name, piece.data(), piece.size()));
    if (got == 0) return ok();
    total += static_cast<std::int64_t>(got);
    if (total > limit) return too_large(name, limit);
    if (Status status = take({piece.data(), got}); !status.ok()) return status.at(name);
  }
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// The target of links, so that replacing a linked file replaces what it points to.
std::string resolved(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
  return real == nullptr ? path : std::string(real.get());
}

mode_t default_mode() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::int64_t limit_bytes) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) return unavailable(path + ": cannot open: " + reason(errno));
  return read_descriptor(file.number(), path, limit_bytes);
}

Result<std::string> read_standard_input(std::int64_t limit_bytes) {
  return read_descriptor(STDIN_FILENO, "standard input", limit_bytes);
}

Status read_in_pieces(const std::string& path, std::int64_t limit_bytes,
                      FunctionRef<Status(std::string_view)> take) {
  if (path == "-") {
    return read_descriptor_in_pieces(STDIN_FILENO, "standard input", limit_bytes, take);
  }
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) return unavailable(path + ": cannot open: " + reason(errno));
  return read_descriptor_in_pieces(file.number(), path, limit_bytes, take);
}

Result<AtomicFile> AtomicFile::create(const std::string& path) {
  static std::atomic<unsigned> number{0};
  AtomicFile file;
  file.path_ = resolved(path);
  struct stat info {};
  const bool exists = ::stat(file.path_.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) return usage_error(path + ": is a directory");
  if (exists && !S_ISREG(info.st_mode)) {
    file.descriptor_ = ::open(file.path_.c_str(), O_WRONLY | O_CLOEXEC);
  } else if (exists && ::access(file.path_.c_str(), W_OK) != 0) {
    // A rename would get around the file's own protection.
    return unavailable(path + ": cannot write: " + reason(errno));
  } else {
    const std::string temporary = folder_of(file.path_) + "/." + name_of(file.path_) + "." +
                                  std::to_string(::getpid()) + "-" + std::to_string(number++) +
                                  ".tmp";
    file.descriptor_ =
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file.descriptor_ >= 0) {
      file.temporary_ = temporary;
      const mode_t mode = exists ? (info.st_mode & 07777) : default_mode();
      if (::fchmod(file.descriptor_, mode) != 0) {
        return unavailable(path + ": cannot set the mode: " + reason(errno));
      }
    }
  }
  if (file.descriptor_ < 0) return unavailable(path + ": cannot write: " + reason(errno));
  return file;
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  if (this != &other) {
    discard();
    path_ = std::move(other.path_);
    temporary_ = std::exchange(other.temporary_, {});
    descriptor_ = std::exchange(other.descriptor_, -1);
  }
  return *this;
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() noexcept {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

Status AtomicFile::append(std::string_view bytes) {
  EGRET_CHECK(descriptor_ >= 0, "append() after commit()");
  while (!bytes.empty()) {
    const ssize_t put = ::write(descriptor_, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return unavailable(path_ + ": cannot write: " + reason(errno));
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return ok();
}

Status AtomicFile::finish() {
  if (temporary_.empty()) return ok();  // nothing to wait for
  EGRET_CHECK(descriptor_ >= 0, "finish() twice");
  const bool synced = ::fsync(descriptor_) == 0;
  const int sync_error = errno;
  const bool closed = ::close(std::exchange(descriptor_, -1)) == 0;
  const int error = synced ? errno : sync_error;
  if (!synced || !closed) {
    discard();
    return unavailable(path_ + ": cannot finish writing: " + reason(error));
  }
  return ok();
}

Status AtomicFile::commit() {
  EGRET_CHECK(descriptor_ >= 0 || !temporary_.empty(), "commit() twice");
  if (temporary_.empty()) {
    if (::close(std::exchange(descriptor_, -1)) == 0) return ok();
    return unavailable(path_ + ": cannot finish writing: " + reason(errno));
  }
  if (descriptor_ >= 0) EGRET_RETURN_IF_ERROR(finish());
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int rename_error = errno;
    discard();
    return unavailable(path_ + ": cannot replace: " + reason(rename_error));
  }
  temporary_.clear();
  // The new name itself must survive a crash. Some file systems refuse; then this is all there is.
  const Descriptor folder(::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.number() >= 0) (void)::fsync(folder.number());
  return ok();
}

Status check_writable(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
    // Opening a pipe would wait for its reader.
    if (::access(path.c_str(), W_OK) == 0) return ok();
    return unavailable(path + ": cannot write: " + reason(errno));
  }
  return AtomicFile::create(path).status();
}

bool same_file(const std::string& a, const std::string& b) {
  struct stat one {};
  struct stat other {};
  if (::stat(a.c_str(), &one) == 0 && ::stat(b.c_str(), &other) == 0)
    return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
  std::error_code failed;
  const auto place = [&](const std::string& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, failed), failed);
  };
  const std::filesystem::path first = place(a);
  return !failed && first == place(b) && !failed;
}

Status write_file(const std::string& path, std::string_view bytes) {
  EGRET_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  EGRET_RETURN_IF_ERROR(file.append(bytes));
  return file.commit();
}

std::string cache_folder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  std::string folder = variable("XDG_CACHE_HOME");
  if (folder.empty() && !variable("HOME").empty()) folder = variable("HOME") + "/.cache";
  return folder.empty() ? "" : folder + "/egret";
}

}  // namespace egret::base
