// SPDX-License-Identifier: Apache-2.0
#include "frontends/wire/external_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <limits>

namespace egret::frontends {
namespace {

namespace fs = std::filesystem;
using base::StatusCode;
using testing::HasSubstr;

class ExternalData : public testing::Test {
 protected:
  void SetUp() override {
    // A folder of its own: tests run side by side.
    root_ = fs::path(testing::TempDir()) /
            (std::string("egret_external_") +
             testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(root_);
    fs::create_directories(root_ / "model" / "inner");
    write(root_ / "model" / "weights.bin", "0123456789");
    write(root_ / "model" / "inner" / "more.bin", "abcdef");
    write(root_ / "secret.bin", "password");
  }
  void TearDown() override { fs::remove_all(root_); }

  static void write(const fs::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }
  base::Result<std::string> read(const ExternalRange& range, std::size_t bytes = 4) {
    std::string text(bytes, '?');
    const auto status = read_external((root_ / "model").string(), range,
                                      std::as_writable_bytes(std::span(text.data(), bytes)));
    if (!status.ok()) return status;
    return text;
  }
  void expect_refused(const ExternalRange& range, const std::string& reason,
                      StatusCode code = StatusCode::kBadInput) {
    const auto text = read(range);
    ASSERT_FALSE(text.ok()) << "read " << *text;
    EXPECT_EQ(text.status().code(), code) << text.status().message();
    EXPECT_THAT(text.status().message(), HasSubstr(reason));
  }

  fs::path root_;
};

TEST_F(ExternalData, RangesOfFilesInTheFolderAreRead) {
  EXPECT_EQ(*read({"weights.bin"}), "0123");
  EXPECT_EQ(*read({"weights.bin", 6, 4}), "6789");
  EXPECT_EQ(*read({"./inner//more.bin", 1}), "bcde");
}

TEST_F(ExternalData, PathsThatLeaveTheFolderAreRefused) {
  expect_refused({"../secret.bin"}, "outside the model's folder");
  expect_refused({"inner/../../secret.bin"}, "outside the model's folder");
  expect_refused({"inner/.."}, "outside the model's folder");
  expect_refused({(root_ / "secret.bin").string()}, "absolute path");
  expect_refused({"/dev/zero"}, "absolute path");
  expect_refused({std::string("weights.bin\0.txt", 16)}, "zero byte");
  expect_refused({""}, "has no location");
  expect_refused({"."}, "is not a file");
}

TEST_F(ExternalData, LinksAreRefused) {
  fs::create_symlink(root_ / "secret.bin", root_ / "model" / "link.bin");
  fs::create_symlink("weights.bin", root_ / "model" / "inside.bin");
  fs::create_directory_symlink(root_, root_ / "model" / "up");
  fs::create_hard_link(root_ / "secret.bin", root_ / "model" / "hard.bin");
  expect_refused({"link.bin"}, "symbolic link");
  expect_refused({"inside.bin"}, "symbolic link");
  expect_refused({"up/secret.bin"}, "symbolic link");
  expect_refused({"hard.bin"}, "hard link");
}

TEST_F(ExternalData, WhatIsNoRegularFileIsRefusedWithoutWaiting) {
  ASSERT_EQ(::mkfifo((root_ / "model" / "pipe").c_str(), 0600), 0);
  expect_refused({"pipe"}, "not a regular file");
  expect_refused({"inner"}, "not a regular file");
  expect_refused({"weights.bin/x"}, "contains a symbolic link or a file");
}

TEST_F(ExternalData, RangesOutsideTheFileAreRefused) {
  constexpr auto kLargest = std::numeric_limits<std::int64_t>::max();
  expect_refused({"weights.bin", 7}, "outside the file");
  expect_refused({"weights.bin", kLargest}, "outside the file");
  expect_refused({"weights.bin", -1}, "negative offset");
  expect_refused({"weights.bin", 0, 5}, "has 5 bytes");
  expect_refused({"weights.bin", 0, kLargest}, "its shape and type need 4");
}

TEST_F(ExternalData, AMissingFileIsUnavailable) {
  expect_refused({"ghost.bin"}, "ghost.bin", StatusCode::kUnavailable);
}

}  // namespace
}  // namespace egret::frontends
