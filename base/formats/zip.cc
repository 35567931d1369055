// SPDX-License-Identifier: Apache-2.0
#include "base/formats/zip.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "base/formats/inflate.h"

namespace egret::base {
namespace {

constexpr std::uint32_t kLocalHeader = 0x04034b50;
constexpr std::uint32_t kDirectoryEntry = 0x02014b50;
constexpr std::uint32_t kDirectoryEnd = 0x06054b50;
constexpr std::size_t kLocalHeaderBytes = 30;
constexpr std::size_t kEntryBytes = 46;
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kLongestComment = 0xFFFF;

// Little-endian, 0 beyond the end.
std::uint32_t number_at(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < count && at + i < bytes.size(); ++i)
    value |= std::uint32_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  return value;
}

// Before the comment at the end, whose length it states.
std::optional<std::size_t> directory_end(std::string_view archive) {
  if (archive.size() < kEndBytes) return std::nullopt;
  const std::size_t latest = archive.size() - kEndBytes;
  const std::size_t earliest = latest > kLongestComment ? latest - kLongestComment : 0;
  for (std::size_t at = latest + 1; at-- > earliest;) {
    if (number_at(archive, at, 4) == kDirectoryEnd &&
        at + kEndBytes + number_at(archive, at + 20, 2) <= archive.size())
      return at;
  }
  return std::nullopt;
}

std::uint32_t checksum_of(std::string_view bytes) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t i = 0; i < made.size(); ++i) {
      std::uint32_t rest = i;
      for (int bit = 0; bit < 8; ++bit)
        rest = rest % 2 == 1 ? (rest >> 1) ^ 0xEDB88320U : rest >> 1;
      made[i] = rest;
    }
    return made;
  }();
  std::uint32_t sum = 0xFFFFFFFFU;
  for (const char byte : bytes)
    sum = (sum >> 8) ^ table[(sum ^ static_cast<unsigned char>(byte)) & 0xFFU];
  return ~sum;
}

}  // namespace

Result<std::vector<ZipMember>> zip_members(std::string_view archive) {
  const auto end = directory_end(archive);
  if (!end) return bad_input("is no ZIP archive, or it is cut short");
  std::size_t at = number_at(archive, *end + 16, 4);
  const std::size_t count = number_at(archive, *end + 10, 2);
  std::vector<ZipMember> members;
  for (std::size_t i = 0; i < count; ++i) {
    if (at > *end || *end - at < kEntryBytes || number_at(archive, at, 4) != kDirectoryEntry)
      return bad_input("is a damaged ZIP archive: entry " + std::to_string(i) +
                       " of its directory");
    const std::size_t name = number_at(archive, at + 28, 2);
    if (name > *end - at - kEntryBytes)
      return bad_input("is a damaged ZIP archive: entry " + std::to_string(i) +
                       " of its directory");
    members.push_back({.name = std::string(archive.substr(at + kEntryBytes, name)),
                       .method = static_cast<int>(number_at(archive, at + 10, 2)),
                       .checksum = number_at(archive, at + 16, 4),
                       .packed_bytes = number_at(archive, at + 20, 4),
                       .bytes = number_at(archive, at + 24, 4),
                       .offset = number_at(archive, at + 42, 4)});
    if (number_at(archive, at + 8, 2) % 2 == 1) members.back().method = -1;  // encrypted
    at += kEntryBytes + name + number_at(archive, at + 30, 2) + number_at(archive, at + 32, 2);
  }
  return members;
}

Result<std::string> read_zip_member(std::string_view archive, const ZipMember& member,
                                    std::int64_t limit_bytes) {
  const std::string who = "member '" + member.name + "'";
  if (member.method != 0 && member.method != 8)
    return unsupported(who + " is encrypted, or compressed in another way than deflate");
  if (member.bytes > limit_bytes)
    return bad_input(who + " is larger than " + std::to_string(limit_bytes) + " bytes");
  const auto header = static_cast<std::size_t>(member.offset);
  const bool begins = header < archive.size() && number_at(archive, header, 4) == kLocalHeader;
  const std::size_t start = header + kLocalHeaderBytes + number_at(archive, header + 26, 2) +
                            number_at(archive, header + 28, 2);
  const auto packed = static_cast<std::size_t>(member.packed_bytes);
  if (!begins || start > archive.size() || packed > archive.size() - start)
    return bad_input(who + " lies outside of the file: the archive is damaged");
  const std::string_view data = archive.substr(start, packed);
  std::string bytes;
  if (member.method == 0) {
    bytes = std::string(data);
  } else {
    auto inflated = inflate(data, member.bytes);
    if (!inflated.ok()) return inflated.status().at(who);
    bytes = *std::move(inflated);
  }
  if (static_cast<std::int64_t>(bytes.size()) != member.bytes ||
      checksum_of(bytes) != member.checksum)
    return bad_input(who + " is damaged: its checksum differs");
  return bytes;
}

}  // namespace egret::base
