// SPDX-License-Identifier: Apache-2.0
#include "egraph/formats/snapshot_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "base/system/file.h"

namespace egret::egraph {

using base::Result;
using base::Status;

namespace {

constexpr std::array<char, 8> kMagic = {'E', 'G', 'R', 'E', 'T', 'S', 'N', 'P'};
constexpr std::uint32_t kVersion = 2;
constexpr std::uint32_t kByteOrder = 0x01020304;

struct Header {
  std::array<char, 8> magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t byte_order = kByteOrder;
  std::uint64_t sections = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t table_hash = 0;
};

struct Entry {
  std::array<char, 32> name{};
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t hash = 0;

  std::string_view name_text() const {
    return {name.data(),
            static_cast<std::size_t>(std::find(name.begin(), name.end(), '\0') - name.begin())};
  }
};
static_assert(sizeof(Header) == 40 && sizeof(Entry) == 56, "no padding is written");

std::string_view text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Entry entry_at(std::span<const std::byte> file, std::size_t i) {
  Entry entry;
  std::memcpy(&entry, file.data() + sizeof(Header) + i * sizeof(Entry), sizeof(Entry));
  return entry;
}

std::uint64_t section_count(std::span<const std::byte> file) {
  Header header;
  std::memcpy(&header, file.data(), sizeof(header));
  return header.sections;
}

}  // namespace

void SnapshotWriter::add_view(std::string_view name, std::span<const std::byte> bytes) {
  EGRET_CHECK(!name.empty() && name.size() <= Entry().name.size());
  for (const Section& section : sections_) EGRET_CHECK(section.name != name, "a section twice");
  sections_.push_back({std::string(name), {}, bytes});
}

void SnapshotWriter::add_copy(std::string_view name, std::span<const std::byte> bytes) {
  add_view(name, {});
  sections_.back().owned.assign(bytes.begin(), bytes.end());
  sections_.back().bytes = sections_.back().owned;
}

// The layout is computed first, so that the header and the table are known before anything is
// written.
Status SnapshotWriter::write(const std::string& path) const {
  const auto padded = [](std::size_t bytes) {
    return (bytes + SnapshotFile::kAlignment - 1) / SnapshotFile::kAlignment *
           SnapshotFile::kAlignment;
  };
  std::vector<Entry> table;
  const std::size_t head = sizeof(Header) + sections_.size() * sizeof(Entry);
  std::size_t offset = padded(head);
  for (const Section& section : sections_) {
    Entry& entry = table.emplace_back();
    std::copy(section.name.begin(), section.name.end(), entry.name.begin());
    entry.offset = offset;
    entry.size = section.bytes.size();
    entry.hash = base::hash_bytes(section.bytes);
    offset = padded(offset + entry.size);
  }
  Header header;
  header.sections = table.size();
  header.file_bytes = offset;
  header.table_hash = base::hash_bytes(std::as_bytes(std::span(table)));

  EGRET_ASSIGN_OR_RETURN(base::AtomicFile file, base::AtomicFile::create(path));
  const std::array<char, SnapshotFile::kAlignment> zeros{};
  const auto pad = [&](std::size_t written) {
    return file.append({zeros.data(), padded(written) - written});
  };
  EGRET_RETURN_IF_ERROR(file.append(text(std::as_bytes(std::span(&header, 1)))));
  EGRET_RETURN_IF_ERROR(file.append(text(std::as_bytes(std::span(table)))));
  EGRET_RETURN_IF_ERROR(pad(head));
  for (const Section& section : sections_) {
    EGRET_RETURN_IF_ERROR(file.append(text(section.bytes)));
    EGRET_RETURN_IF_ERROR(pad(section.bytes.size()));
  }
  return file.commit();
}

Result<SnapshotFile> SnapshotFile::open(const std::string& path) {
  const auto failed = [&](std::string_view what) {
    const int error = errno;
    return base::unavailable(path + ": cannot " + std::string(what) + ": " +
                             std::generic_category().message(error));
  };
  SnapshotFile result;
  result.path_ = path;
  // O_NONBLOCK: opening a named pipe would otherwise wait for a writer. The test for a regular file
  // follows.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return failed("open");
  struct stat info {};
  if (::fstat(descriptor, &info) != 0) {
    const Status status = failed("read");
    ::close(descriptor);
    return status;
  }
  const auto size = static_cast<std::size_t>(info.st_size);
  if (!S_ISREG(info.st_mode) || size < sizeof(Header)) {
    ::close(descriptor);
    return base::bad_input(path + ": is not a snapshot: snapshots have at least " +
                           std::to_string(sizeof(Header)) + " bytes");
  }
  // The mapping stays valid after the descriptor is closed.
  void* const data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  const Status unmapped = data == MAP_FAILED ? failed("map") : base::ok();
  ::close(descriptor);
  EGRET_RETURN_IF_ERROR(unmapped);
  result.file_ = {static_cast<const std::byte*>(data), size};
  EGRET_RETURN_IF_ERROR(result.check());
  return result;
}

SnapshotFile::SnapshotFile(SnapshotFile&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, {})) {}

SnapshotFile& SnapshotFile::operator=(SnapshotFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(file_, other.file_);
  return *this;
}

SnapshotFile::~SnapshotFile() {
  if (!file_.empty()) ::munmap(const_cast<std::byte*>(file_.data()), file_.size());
}

// Checks the header, the hash of the table, the places of the sections, the zeros between them, and
// the hash of each section. Every byte of the file is covered.
Status SnapshotFile::check() const {
  Header header;
  std::memcpy(&header, file_.data(), sizeof(header));
  if (header.magic != kMagic) return base::bad_input(path_ + ": is not a snapshot");
  if (header.byte_order != kByteOrder) {
    return base::unsupported(path_ + ": was written on a machine with another byte order");
  }
  if (header.version != kVersion) {
    return base::unsupported(path_ + ": has snapshot format " + std::to_string(header.version) +
                             "; this program reads " + std::to_string(kVersion));
  }
  if (header.file_bytes != file_.size()) {
    return corrupt("header", "the file has " + std::to_string(file_.size()) + " bytes and not " +
                                 std::to_string(header.file_bytes) + "; it was cut short");
  }
  if (header.sections > (file_.size() - sizeof(header)) / sizeof(Entry)) {
    return corrupt("header", "the file is too short for its table of sections");
  }
  const auto table = file_.subspan(sizeof(header), header.sections * sizeof(Entry));
  if (base::hash_bytes(table) != header.table_hash) return corrupt("table", "its hash differs");
  std::size_t end = sizeof(header) + table.size();
  for (std::size_t i = 0; i < header.sections; ++i) {
    const Entry entry = entry_at(file_, i);
    const std::string_view name = entry.name_text();
    // Subtracting the offset from the size cannot wrap here, whereas offset + size could.
    if (entry.offset % kAlignment != 0 || entry.offset < end || entry.offset > file_.size() ||
        entry.size > file_.size() - entry.offset) {
      return corrupt(name, "lies outside the file or over another section");
    }
    const auto gap = file_.subspan(end, entry.offset - end);
    const auto is_zero = [](std::byte b) { return b == std::byte{0}; };
    if (!std::all_of(gap.begin(), gap.end(), is_zero)) {
      return corrupt(name, "the bytes before it are not zero");
    }
    if (base::hash_bytes(file_.subspan(entry.offset, entry.size)) != entry.hash) {
      return corrupt(name, "its hash differs: the file was damaged");
    }
    end = entry.offset + entry.size;
  }
  const auto rest = file_.subspan(end);
  if (!std::all_of(rest.begin(), rest.end(), [](std::byte b) { return b == std::byte{0}; })) {
    return corrupt("end", "the bytes after the last section are not zero");
  }
  return base::ok();
}

bool SnapshotFile::has(std::string_view name) const { return bytes(name).ok(); }

// A linear search: a snapshot has few sections.
Result<std::span<const std::byte>> SnapshotFile::bytes(std::string_view name) const {
  for (std::size_t i = 0; i < section_count(file_); ++i) {
    const Entry entry = entry_at(file_, i);
    if (entry.name_text() == name) return file_.subspan(entry.offset, entry.size);
  }
  return base::bad_input(path_ + ": has no section '" + std::string(name) + "'");
}

Status SnapshotFile::corrupt(std::string_view section, std::string_view what) const {
  return base::bad_input(path_ + ": section '" + std::string(section) + "': " + std::string(what));
}

}  // namespace egret::egraph
