// SPDX-License-Identifier: Apache-2.0
// Numbers and texts in sequence in a section of a snapshot, for tables whose items differ in size.
// (Arrays of plain values are sections of their own: SnapshotFile::values().)
//
//   ItemWriter items;
//   items.number(names.size());
//   for (const std::string& name : names) items.text(name);
//   writer.add_copy("my.names", items.bytes());
//
//   ItemReader items(file, "my.names");
//   for (std::size_t left = items.count(); left > 0; --left) names.push_back(items.text());
//   EGRET_RETURN_IF_ERROR(items.finish());
//
// A reader keeps the first error. After it every number reads as 0 and every text as empty, so
// loops end and one check at the end suffices. To read an index, pass its end: the returned number
// is below it, or an error was recorded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "egraph/formats/snapshot_file.h"

namespace egret::egraph {

class ItemWriter {
 public:
  void number(std::uint64_t value);
  void text(std::string_view value);
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(bytes_)); }

 private:
  std::vector<char> bytes_;
};

class ItemReader {
 public:
  // The file must outlive the reader. A missing section is the first error.
  ItemReader(const SnapshotFile& file, std::string_view section);

  static constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t number(std::uint64_t end = kAny);  // below `end`
  std::string text();
  // Reads the number of the following items, each of at least one number. At most the number of
  // bytes left.
  std::size_t count();

  bool ok() const { return status_.ok(); }
  void fail(std::string_view what);  // for readers that find errors of their own; the first failure
                                     // is kept
  // Returns ok if everything was valid and was read to the end, otherwise the first error.
  base::Status finish();

 private:
  const SnapshotFile& file_;
  const std::string section_;
  std::span<const std::byte> left_;
  base::Status status_;
};

}  // namespace egret::egraph
