// SPDX-License-Identifier: Apache-2.0
#include "base/system/random_access_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string_view>
#include <vector>

#include "base/system/file.h"

namespace egret::base {
namespace {

class RandomAccessFileTest : public testing::Test {
 protected:
  RandomAccessFileTest() {
    std::string pattern = testing::TempDir() + "egret_access_XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~RandomAccessFileTest() override { std::filesystem::remove_all(folder_); }
  std::string at(const std::string& name) const { return folder_ + "/" + name; }

 private:
  std::string folder_;
};

std::string text(const RandomAccessFile& file, std::int64_t offset, std::size_t count) {
  std::vector<std::byte> bytes(count);
  const auto got = file.read_at(offset, bytes);
  EXPECT_TRUE(got.ok());
  return {reinterpret_cast<const char*>(bytes.data()), got.ok() ? *got : 0};
}

TEST_F(RandomAccessFileTest, ReadsInAnyOrderUpToTheEnd) {
  ASSERT_TRUE(write_file(at("a"), "0123456789").ok());
  auto opened = RandomAccessFile::open(at("a"), 10);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  const RandomAccessFile file = *std::move(opened);
  EXPECT_EQ(file.size(), 10);
  EXPECT_EQ(text(file, 7, 8), "789");
  EXPECT_EQ(text(file, 2, 3), "234");
  EXPECT_EQ(text(file, 10, 4), "");
  EXPECT_EQ(text(file, 0, 0), "");
}

TEST_F(RandomAccessFileTest, RefusesWhatItCannotReadInPlaces) {
  const auto missing = RandomAccessFile::open(at("none"), 10);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.status().code(), StatusCode::kUnavailable);
  for (const std::string& path : {at("."), std::string("/dev/null")}) {
    const auto opened = RandomAccessFile::open(path, 10);
    ASSERT_FALSE(opened.ok()) << path;
    EXPECT_EQ(opened.status().message(), path + ": is not a regular file");
  }
  ASSERT_TRUE(write_file(at("a"), "0123456789").ok());
  const auto large = RandomAccessFile::open(at("a"), 9);
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.status().message(), at("a") + ": larger than the limit of 9 bytes");
}

}  // namespace
}  // namespace egret::base
