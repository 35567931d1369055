// SPDX-License-Identifier: Apache-2.0
#include "base/system/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace egret::base {
namespace {

// A folder of this test's own, removed at the end.
class FileTest : public testing::Test {
 protected:
  FileTest() {
    std::string pattern = testing::TempDir() + "egret_file_XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~FileTest() override { std::filesystem::remove_all(folder_); }
  std::string at(const std::string& name) const { return folder_ + "/" + name; }
  std::size_t entries() const {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) count += entry.exists();
    return count;
  }
  std::string folder_;
};

TEST_F(FileTest, WhatIsWrittenIsReadBack) {
  const std::string bytes(100'000, '\x80');
  ASSERT_TRUE(write_file(at("a"), bytes).ok());
  EXPECT_EQ(*read_file(at("a"), 1 << 20), bytes);
  EXPECT_EQ(entries(), 1U) << "no temporary file stays";
}

TEST_F(FileTest, AnUncommittedFileLeavesTheOldOneAlone) {
  ASSERT_TRUE(write_file(at("a"), "old").ok());
  {
    auto file = AtomicFile::create(at("a"));
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->append("new").ok());
    EXPECT_EQ(*read_file(at("a"), 100), "old");
  }
  EXPECT_EQ(*read_file(at("a"), 100), "old");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(FileTest, AFinishedFileAppearsWithCommit) {
  ASSERT_TRUE(write_file(at("a"), "old").ok());
  {
    auto file = AtomicFile::create(at("a"));
    ASSERT_TRUE(file.ok() && file->append("new").ok() && file->finish().ok());
    EXPECT_EQ(*read_file(at("a"), 100), "old");
  }
  EXPECT_EQ(entries(), 1U) << "no temporary file stays";
  auto file = AtomicFile::create(at("a"));
  ASSERT_TRUE(file.ok() && file->append("new").ok() && file->finish().ok());
  ASSERT_TRUE(file->commit().ok());
  EXPECT_EQ(*read_file(at("a"), 100), "new");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(FileTest, WhetherAFileCanBeWrittenIsSaidWithoutWritingIt) {
  ASSERT_TRUE(write_file(at("a"), "old").ok());
  EXPECT_TRUE(check_writable(at("a")).ok());
  EXPECT_TRUE(check_writable(at("new")).ok());
  EXPECT_TRUE(check_writable("/dev/null").ok());
  EXPECT_FALSE(check_writable(folder_).ok());
  EXPECT_FALSE(check_writable(at("a/b")).ok());
  EXPECT_FALSE(check_writable(at("no/such/folder")).ok());
  EXPECT_EQ(*read_file(at("a"), 100), "old");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(FileTest, OneFileHasManyNames) {
  ASSERT_TRUE(write_file(at("a"), "x").ok());
  ASSERT_EQ(::symlink("a", at("soft").c_str()), 0);
  ASSERT_EQ(::link(at("a").c_str(), at("hard").c_str()), 0);
  for (const char* name : {"a", "soft", "hard", "./a"})
    EXPECT_TRUE(same_file(at("a"), at(name))) << name;
  EXPECT_FALSE(same_file(at("a"), at("new")));
  EXPECT_TRUE(same_file(at("new"), at("./new")));
  EXPECT_FALSE(same_file(at("new"), at("other")));
}

TEST_F(FileTest, ModesAndSymbolicLinksAreKept) {
  ASSERT_TRUE(write_file(at("target"), "old").ok());
  ASSERT_EQ(::chmod(at("target").c_str(), 0640), 0);
  ASSERT_EQ(::symlink("target", at("link").c_str()), 0);
  ASSERT_TRUE(write_file(at("link"), "new").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(at("link")));
  EXPECT_EQ(*read_file(at("target"), 100), "new");
  struct stat info {};
  ASSERT_EQ(::stat(at("target").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0640U);
}

TEST_F(FileTest, DevicesAreWrittenInPlace) {
  EXPECT_TRUE(write_file("/dev/null", "x").ok());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_FALSE(write_file("/dev/full", "x").ok());
}

TEST_F(FileTest, ReadingStopsAtTheLimit) {
  ASSERT_TRUE(write_file(at("a"), "12345").ok());
  EXPECT_TRUE(read_file(at("a"), 5).ok());
  EXPECT_EQ(read_file(at("a"), 4).status().code(), StatusCode::kBadInput);
  EXPECT_EQ(read_file("/dev/zero", 1 << 20).status().code(), StatusCode::kBadInput);
}

TEST_F(FileTest, FailuresNameTheFileAndTheReason) {
  EXPECT_EQ(read_file(at("none"), 1).status().code(), StatusCode::kUnavailable);
  EXPECT_NE(read_file(at("none"), 1).status().message().find("none: cannot open: No such file"),
            std::string::npos);
  EXPECT_EQ(read_file(folder_, 1).status().code(), StatusCode::kBadInput);
  EXPECT_FALSE(write_file(folder_, "x").ok());
  EXPECT_FALSE(write_file(at("no/such/folder"), "x").ok());
}

}  // namespace
}  // namespace egret::base
