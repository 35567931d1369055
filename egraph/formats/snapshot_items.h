// SPDX-License-Identifier: Apache-2.0
// Numbers and texts one after another in a section of a snapshot: for tables whose items differ in
// size. (Arrays of plain values are sections as they are: SnapshotFile::values().)
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
// A reader remembers the first thing that was wrong; from there on every number is 0 and every text
// empty, so that loops end and one look at the end is enough. Who uses a number as an index gives
// its end: what is returned is below it, or there was a failure.
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
  // The file must outlive it. A section that is not there is the first thing wrong.
  ItemReader(const SnapshotFile& file, std::string_view section);

  static constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t number(std::uint64_t end = kAny);  // below `end`
  std::string text();
  // How many items follow, each of at least one number: never more than bytes are left.
  std::size_t count();

  bool ok() const { return status_.ok(); }
  void fail(std::string_view what);  // for readers who see more; the first failure stays
  // Everything was right and was read; or what was wrong.
  base::Status finish();

 private:
  const SnapshotFile& file_;
  const std::string section_;
  std::span<const std::byte> left_;
  base::Status status_;
};

}  // namespace egret::egraph
