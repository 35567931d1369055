// SPDX-License-Identifier: Apache-2.0
// Reading and writing whole files safely. A written file is either the old one or the new one in
// full, whatever kills the process; a read never exceeds its limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/function_ref.h"
#include "base/status.h"

namespace egret::base {

// The bytes of a regular file, a pipe or a device. Fails: missing or unreadable (unavailable),
// a directory or larger than the limit (bad input). The limit is checked before memory is taken.
Result<std::string> read_file(const std::string& path, std::int64_t limit_bytes);
// The same for standard input.
Result<std::string> read_standard_input(std::int64_t limit_bytes);

// Hands the same bytes on piece by piece, each of some 64 KiB, so that a reader need not hold the
// whole. A failure of the taker ends reading and is returned. "-" is standard input.
Status read_in_pieces(const std::string& path, std::int64_t limit_bytes,
                      FunctionRef<Status(std::string_view)> take);

// The folder for what Egret can make again: "egret" under $XDG_CACHE_HOME or ~/.cache; empty where
// neither is set. It need not exist.
std::string cache_folder();

// Replaces PATH by the bytes: temporary file in the same folder, fsync, rename, fsync of the
// folder. Symbolic links are followed and stay; an existing file keeps its mode. A path that is no
// regular file (a pipe, /dev/null) is written in place.
Status write_file(const std::string& path, std::string_view bytes);

// Whether write_file() could write PATH now. Leaves nothing behind.
Status check_writable(const std::string& path);

// Whether both name the same file, through links too. It need not exist yet.
bool same_file(const std::string& a, const std::string& b);

// The same as write_file() in pieces, for output too large to hold twice.
//
//   EGRET_ASSIGN_OR_RETURN(base::AtomicFile file, base::AtomicFile::create(path));
//   EGRET_RETURN_IF_ERROR(file.append(piece));  // any number of times
//   return file.commit();
//
// Without commit() the destructor removes the temporary file and PATH stays as it was. Temporary
// files are named ".NAME.PID-NUMBER.tmp"; those of killed processes may be deleted at any time.
class AtomicFile {
 public:
  static Result<AtomicFile> create(const std::string& path);

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;
  ~AtomicFile();

  Status append(std::string_view bytes);
  // All bytes are on the disk after this, under the temporary name; only commit() may follow. For
  // several files that belong together: all are finished before the first one appears.
  Status finish();
  // Makes the file appear. Nothing may follow.
  Status commit();

  const std::string& path() const { return path_; }  // where it will appear, links resolved
  // Where its bytes are between finish() and commit(). Empty: PATH is no regular file.
  const std::string& temporary_path() const { return temporary_; }

 private:
  AtomicFile() = default;
  void discard() noexcept;

  std::string path_;       // where it goes, links resolved
  std::string temporary_;  // empty: PATH itself is open (no regular file)
  int descriptor_ = -1;    // closed by finish() where there is a temporary file
};

}  // namespace egret::base
