// SPDX-License-Identifier: Apache-2.0
// Databases that cannot be written, or that hold what nobody measured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/system/file.h"
#include "cost/database.h"
#include "cost/sqlite.h"

namespace egret::cost {
namespace {

namespace fs = std::filesystem;
using base::StatusCode;
using testing::HasSubstr;

// Permissions mean nothing to the superuser, who is somebody else while this lives.
class OrdinaryUser {
 public:
  OrdinaryUser() : is_root_(::geteuid() == 0) {
    if (is_root_ && ::seteuid(65534) != 0) std::abort();
  }
  ~OrdinaryUser() {
    if (is_root_ && ::seteuid(0) != 0) std::abort();
  }

 private:
  bool is_root_;
};

class ProtectedDatabase : public testing::Test {
 protected:
  ProtectedDatabase() {
    std::string pattern = testing::TempDir() + "egret_costs_XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    fs::permissions(folder_, fs::perms(0777));
    auto made = Database::open(path());
    EXPECT_TRUE(made.ok() && (*made)->store("m", "relu", {.runs = 3, .median_s = 2e-6}).ok());
  }
  ~ProtectedDatabase() override {
    fs::permissions(folder_, fs::perms(0777));
    fs::remove_all(folder_);
  }
  std::string path(const char* name = "costs.sqlite") const { return folder_ + "/" + name; }
  void execute(const std::string& sql) const {
    sqlite3* raw = nullptr;
    ASSERT_EQ(sqlite3_open(path().c_str(), &raw), SQLITE_OK);
    const Connection db(raw);
    EXPECT_TRUE(cost::execute(db.get(), sql.c_str()).ok());
  }
  void expect_used_in_memory() {
    const OrdinaryUser user;
    EXPECT_EQ(Database::open(path()).status().code(), StatusCode::kUnavailable);
    const auto read = open_database_to_read(path());
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_TRUE((*read)->find("m", "relu")->has_value());
    const auto used = open_database_in_use(path());
    ASSERT_TRUE(used.ok()) << used.status().message();
    EXPECT_THAT(used->warning, HasSubstr(path()));
    EXPECT_TRUE(used->database->find("m", "relu")->has_value());
    EXPECT_TRUE(used->database->store("m", "add", {.runs = 1, .median_s = 1e-6}).ok());
    EXPECT_TRUE(used->database->find("m", "add")->has_value());
  }

  std::string folder_;
};

TEST_F(ProtectedDatabase, AFileIsReadAndUsed) {
  fs::permissions(path(), fs::perms(0444));
  expect_used_in_memory();
  EXPECT_FALSE(fs::exists(path("costs.sqlite-shm"))) << "its owner could not write that";
  EXPECT_EQ(open_database_to_read(path()).value()->rows()->size(), 1U);
}

TEST_F(ProtectedDatabase, AFileInAProtectedFolderIsReadAndUsed) {
  fs::permissions(path(), fs::perms(0444));
  fs::permissions(folder_, fs::perms(0555));
  expect_used_in_memory();
}

TEST_F(ProtectedDatabase, WhatCanBeWrittenIsKept) {
  const auto used = open_database_in_use(path());
  ASSERT_TRUE(used.ok());
  EXPECT_EQ(used->warning, "");
  ASSERT_TRUE(used->database->store("m", "add", {.runs = 1, .median_s = 1e-6}).ok());
  EXPECT_EQ(open_database_to_read(path()).value()->rows()->size(), 2U);
}

TEST_F(ProtectedDatabase, TheRealCauseIsSaid) {
  const auto below_a_file = open_database_in_use(path() + "/costs.sqlite");
  EXPECT_EQ(below_a_file.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(below_a_file.status().message(), HasSubstr("Not a directory"));
  const auto in_folder = Database::open(folder_);
  EXPECT_EQ(in_folder.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(in_folder.status().message(), HasSubstr(folder_));
}

TEST_F(ProtectedDatabase, ReadingMakesNoFile) {
  EXPECT_EQ(open_database_to_read(path("mistyped")).status().code(), StatusCode::kBadInput);
  EXPECT_FALSE(fs::exists(path("mistyped")));
}

TEST_F(ProtectedDatabase, TheUsualPlaceNeedNotBeThere) {
  const std::string home = std::getenv("HOME") != nullptr ? std::getenv("HOME") : "";
  for (const char* variable : {"HOME", "XDG_CACHE_HOME", "EGRET_COST_DB"}) ::unsetenv(variable);
  EXPECT_EQ(base::cache_folder(), "");
  EXPECT_EQ(open_database("").status().code(), StatusCode::kUnavailable);
  EXPECT_TRUE(open_database_to_read("").ok());
  for (const std::string& place : {std::string(), path()}) {
    if (!place.empty()) ::setenv("HOME", place.c_str(), 1);  // a file, where no folder can be made
    const auto used = open_database_in_use("");
    ASSERT_TRUE(used.ok()) << used.status().message();
    EXPECT_THAT(used->warning, HasSubstr("not kept"));
    EXPECT_TRUE(used->database->store("m", "add", {.runs = 1, .median_s = 1e-6}).ok());
  }
  ::setenv("HOME", home.c_str(), 1);
}

TEST_F(ProtectedDatabase, WhatIsNoTimeIsRefusedWithTheFile) {
  for (const char* value : {"-1", "9e999", "'soon'"}) {
    execute(std::string("UPDATE profile SET median_s = ") + value);
    const auto db = Database::open(path());
    ASSERT_TRUE(db.ok()) << db.status().message();
    for (const auto& status : {(*db)->find("m", "relu").status(), (*db)->rows().status()}) {
      EXPECT_EQ(status.code(), StatusCode::kBadInput) << value;
      EXPECT_THAT(status.message(), HasSubstr(path()));
      EXPECT_THAT(status.message(), HasSubstr("relu"));
    }
  }
  execute("INSERT INTO rates VALUES ('m', 0, 1, 1)");
  const auto db = Database::open(path());
  EXPECT_EQ((*db)->find_rates("m").status().code(), StatusCode::kBadInput);
  EXPECT_EQ((*db)->rates().status().code(), StatusCode::kBadInput);
}

TEST_F(ProtectedDatabase, DamagedPagesAreRefusedWithTheFileAndTheRemedy) {
  std::string bytes = base::read_file(path(), 1 << 20).value();
  std::fill(bytes.begin() + 4096, bytes.end(), 'x');  // all pages but the first
  ASSERT_TRUE(base::write_file(path(), bytes).ok());
  const auto read = open_database_to_read(path());
  EXPECT_EQ(read.status().code(), StatusCode::kBadInput) << read.status().message();
  EXPECT_THAT(read.status().message(), HasSubstr(path()));
  EXPECT_THAT(read.status().message(), HasSubstr("move it away"));
  const auto db = Database::open(path());
  const base::Status status = db.ok() ? (*db)->rows().status() : db.status();
  EXPECT_EQ(status.code(), StatusCode::kBadInput) << status.message();
  EXPECT_THAT(status.message(), HasSubstr(path()));
}

}  // namespace
}  // namespace egret::cost
