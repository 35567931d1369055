// SPDX-License-Identifier: Apache-2.0
// A binary file of named sections. A long run writes one at intervals and resumes from it after it
// was killed. Each component with state (the e-graph, a runner, a client with its own tables)
// writes one or more sections; components do not need to know each other.
//
//   SnapshotWriter writer;
//   save(egraph, writer);
//   writer.add_copy("my.table", std::as_bytes(std::span(table)));
//   EGRET_RETURN_IF_ERROR(writer.write(path));
//
//   EGRET_ASSIGN_OR_RETURN(const SnapshotFile file, SnapshotFile::open(path));
//   EGRET_ASSIGN_OR_RETURN(const auto table, file.values<std::uint32_t>("my.table"));
//
// Layout, in words of the machine that wrote it (another byte order is refused):
//   header    "EGRETSNP", u32 format version, u32 0x01020304, u64 sections, u64 bytes of the file,
//             u64 hash of the section table
//   table     per section: 32 bytes of name, zero-padded; u64 offset, u64 size,
//             u64 hash of the section's bytes
//   sections  each at a multiple of 64 bytes, zeros in between
//
// The file is written under another name, synced and renamed, so a reader sees either the old or
// the new file in full. open() maps the file and checks all of the above including every byte. A
// section is therefore as it was written, or the file is refused with the position of the error.
// The reader of a section must check what its content means: the hashes detect accidents, not
// forgeries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/status.h"

namespace egret::egraph {

class SnapshotWriter {
 public:
  // Names have 1 to 32 bytes; each is given once. The bytes of a view must remain valid until
  // write().
  void add_view(std::string_view name, std::span<const std::byte> bytes);
  void add_copy(std::string_view name, std::span<const std::byte> bytes);

  // Replaces the file. If the file cannot be written, write() fails and an old file remains
  // unchanged.
  base::Status write(const std::string& path) const;

 private:
  struct Section {
    std::string name;
    std::vector<std::byte> owned;
    std::span<const std::byte> bytes;
  };
  std::vector<Section> sections_;
};

class SnapshotFile {
 public:
  static base::Result<SnapshotFile> open(const std::string& path);
  SnapshotFile(SnapshotFile&& other) noexcept;
  SnapshotFile& operator=(SnapshotFile&& other) noexcept;
  ~SnapshotFile();

  bool has(std::string_view name) const;
  // Valid as long as the file. Fails if there is no such section.
  base::Result<std::span<const std::byte>> bytes(std::string_view name) const;
  // The same as an array. Fails if the section's size is not a multiple of the element size.
  template <typename T>
  base::Result<std::span<const T>> values(std::string_view name) const {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= kAlignment);
    EGRET_ASSIGN_OR_RETURN(const auto raw, bytes(name));
    if (raw.size() % sizeof(T) != 0) return corrupt(name, "its size is no multiple of an item's");
    return std::span(reinterpret_cast<const T*>(raw.data()), raw.size() / sizeof(T));
  }
  // For readers of sections: returns the failure with what is wrong and where.
  base::Status corrupt(std::string_view section, std::string_view what) const;

 private:
  static constexpr std::size_t kAlignment = 64;
  friend class SnapshotWriter;

  SnapshotFile() = default;
  base::Status check() const;

  std::string path_;
  std::span<const std::byte> file_;  // mapped
};

}  // namespace egret::egraph
