// SPDX-License-Identifier: Apache-2.0
#include "frontends/wire/zip_file.h"

#include <zip.h>

namespace egret::frontends {
namespace {

struct CloseMember {
  void operator()(zip_file_t* member) const { zip_fclose(member); }
};

// The reason of a failure, and the error's memory.
std::string text_of(zip_error_t& error) {
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

}  // namespace

// Nothing was written, so there is nothing to save.
void ZipFile::Close::operator()(zip* archive) const { zip_discard(archive); }

base::Result<ZipFile> ZipFile::open(std::string_view bytes) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* const source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
  if (source == nullptr) return base::bad_input("is no ZIP archive: " + text_of(error));
  ZipFile file;
  file.archive_.reset(zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error));
  if (file.archive_ == nullptr) {
    zip_source_free(source);
    return base::bad_input("is no ZIP archive, or it is damaged: " + text_of(error));
  }
  zip_error_fini(&error);
  const zip_int64_t members = zip_get_num_entries(file.archive_.get(), 0);
  for (zip_int64_t i = 0; i < members; ++i) {
    const char* const name = zip_get_name(file.archive_.get(), static_cast<zip_uint64_t>(i), 0);
    file.names_.emplace_back(name != nullptr ? name : "");
  }
  return file;
}

base::Result<std::string> ZipFile::read(std::size_t member, std::int64_t limit_bytes) const {
  const std::string who = "member '" + names_[member] + "'";
  zip_stat_t facts;
  if (zip_stat_index(archive_.get(), member, 0, &facts) != 0 || (facts.valid & ZIP_STAT_SIZE) == 0)
    return base::bad_input(who + " is damaged");
  if (facts.size > static_cast<zip_uint64_t>(limit_bytes))
    return base::bad_input(who + " is larger than " + std::to_string(limit_bytes) + " bytes");
  const std::unique_ptr<zip_file_t, CloseMember> open(zip_fopen_index(archive_.get(), member, 0));
  if (open == nullptr) {
    const int reason = zip_error_code_zip(zip_get_error(archive_.get()));
    const std::string text = who + ": " + zip_strerror(archive_.get());
    return reason == ZIP_ER_COMPNOTSUPP || reason == ZIP_ER_ENCRNOTSUPP || reason == ZIP_ER_NOPASSWD
               ? base::unsupported(text)
               : base::bad_input(text);
  }
  std::string bytes(static_cast<std::size_t>(facts.size), '\0');
  // The end of the member is read as well: libzip compares the checksum there.
  char beyond = 0;
  if (zip_fread(open.get(), bytes.data(), facts.size) != static_cast<zip_int64_t>(facts.size) ||
      zip_fread(open.get(), &beyond, 1) != 0)
    return base::bad_input(who + " is damaged: " + zip_file_strerror(open.get()));
  return bytes;
}

}  // namespace egret::frontends
