// SPDX-License-Identifier: Apache-2.0
#include "egraph/formats/snapshot_items.h"

#include <cstring>

namespace egret::egraph {

void ItemWriter::number(std::uint64_t value) {
  const auto* const begin = reinterpret_cast<const char*>(&value);
  bytes_.insert(bytes_.end(), begin, begin + sizeof(value));
}

void ItemWriter::text(std::string_view value) {
  number(value.size());
  bytes_.insert(bytes_.end(), value.begin(), value.end());
}

ItemReader::ItemReader(const SnapshotFile& file, std::string_view section)
    : file_(file), section_(section) {
  if (auto bytes = file.bytes(section); bytes.ok()) {
    left_ = *bytes;
  } else {
    status_ = bytes.status();
  }
}

// Keeps the first failure and drops the rest of the bytes. All later reads then give 0 or nothing,
// so a caller may test once at the end.
void ItemReader::fail(std::string_view what) {
  if (!status_.ok()) return;
  status_ = file_.corrupt(section_, what);
  left_ = {};
}

std::uint64_t ItemReader::number(std::uint64_t end) {
  std::uint64_t value = 0;
  if (left_.size() < sizeof(value)) return fail("is cut short"), 0;
  std::memcpy(&value, left_.data(), sizeof(value));
  left_ = left_.subspan(sizeof(value));
  if (value >= end && end != kAny) {
    fail("a number is " + std::to_string(value) + " where all are below " + std::to_string(end));
    return 0;
  }
  return value;
}

std::string ItemReader::text() {
  const std::uint64_t size = number();
  if (size > left_.size()) return fail("a text is cut short"), std::string();
  const std::string value(reinterpret_cast<const char*>(left_.data()), size);
  left_ = left_.subspan(size);
  return value;
}

// Each item takes at least one word. A larger count is thus refused before a caller allocates for
// it.
std::size_t ItemReader::count() {
  const std::uint64_t items = number();
  if (items > left_.size() / sizeof(std::uint64_t)) return fail("has too few items"), 0;
  return items;
}

base::Status ItemReader::finish() {
  if (!left_.empty()) fail("goes on after its last item");
  return status_;
}

}  // namespace egret::egraph
